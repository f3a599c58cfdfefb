package topology

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/selfregulating/sr/runtime/broker"
)

// BenchmarkSplitAndCount is the first stage of the word count: sentences of 200 bytes over 450,000
// words, into 64 buckets. Reports ns a word.
func BenchmarkSplitAndCount(b *testing.B) {
	inGo, errGo := wordCountInGo()
	inYAML, errYAML := one("decode: text", splitAndCount)
	records, words := sentences(1 << 16)
	for name, p := range map[string]struct {
		plan *Plan
		err  error
	}{"Go": {inGo, errGo}, "YAML": {inYAML, errYAML}} {
		b.Run(name, func(b *testing.B) {
			r := start(b, p.plan, p.err)
			all := func() {
				for i := range records {
					if err := r.handle(0, &records[i]); err != nil {
						b.Fatal(err)
					}
					if err := r.tables[0].CommitRecord(); err != nil {
						b.Fatal(err)
					}
				}
			}
			all()
			b.ReportAllocs()
			for b.Loop() {
				all()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(words), "ns/word")
		})
	}
}

func sentences(n int) (records []broker.Record, words int) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		var s strings.Builder
		for s.Len() < 200 {
			fmt.Fprintf(&s, "w%07d ", random.IntN(450_000))
			words++
		}
		records = append(records, broker.Record{Value: []byte(s.String())})
	}
	return records, words
}
