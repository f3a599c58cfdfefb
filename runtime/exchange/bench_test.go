package exchange

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
)

// The benchmarks count the words of 200-byte sentences over 450,000 distinct words of 4 to 12 letters,
// uniform and zipf 1.05: the table of this package beside the two best plain loops.

const distinctWords = 450_000

func words() []string {
	r := rand.New(rand.NewPCG(1, 2))
	seen := make(map[string]bool, distinctWords)
	list := make([]string, 0, distinctWords)
	for len(list) < distinctWords {
		w := make([]byte, 4+r.IntN(9))
		for i := range w {
			w[i] = 'a' + byte(r.IntN(26))
		}
		if !seen[string(w)] {
			seen[string(w)] = true
			list = append(list, string(w))
		}
	}
	return list
}

// sentences gives n sentences of 200 bytes and the number of their words.
func sentences(n int, zipf bool) (list [][]byte, count int) {
	vocabulary := words()
	r := rand.New(rand.NewPCG(3, 4))
	z := rand.NewZipf(r, 1.05, 1, distinctWords-1)
	for range n {
		var b bytes.Buffer
		for b.Len() < 200 {
			i := r.IntN(len(vocabulary))
			if zipf {
				i = int(z.Uint64())
			}
			b.WriteString(vocabulary[i])
			b.WriteByte(' ')
		}
		s := bytes.Clone(bytes.TrimRight(b.Bytes()[:200], " "))
		list = append(list, s)
		count += len(bytes.Fields(s))
	}
	return list, count
}

// cutWord cuts the first run of bytes between spaces off s; "" if there is none.
func cutWord(s string) (word, rest string) {
	for len(s) > 0 {
		i := strings.IndexByte(s, ' ')
		if i < 0 {
			return s, ""
		}
		if i > 0 {
			return s[:i], s[i+1:]
		}
		s = s[1:]
	}
	return "", ""
}

// inlineTable is the best plain loop: inline keys of up to 15 bytes, one table, no batching.
type inlineTable struct {
	slots []inlineSlot
	shift int
}

type inlineSlot struct {
	lo, hi uint64
	count  int64
}

func newInlineTable(size int) *inlineTable {
	return &inlineTable{make([]inlineSlot, size), 64 - bits.Len(uint(size-1))}
}

func (t *inlineTable) add(word string) {
	lo, hi := load15(word)
	hi |= uint64(len(word)) << 56
	mask := len(t.slots) - 1
	for i := int(xxh3.HashString(word) >> t.shift); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.lo == lo && s.hi == hi {
			s.count++
			return
		}
		if s.hi == 0 {
			*s = inlineSlot{lo, hi, 1}
			return
		}
	}
}

// BenchmarkSplitCount runs the loops in turns, round by round, because on a shared machine only what ran
// at the same time can be compared. It reports the round of each that nine of ten did not undercut, in ns/word.
func BenchmarkSplitCount(b *testing.B) {
	for _, distribution := range []string{"uniform", "zipf"} {
		list, count := sentences(65_000, distribution == "zipf")
		perRound := float64(count) / float64(len(list)) * roundSentences
		b.Run(distribution, func(b *testing.B) {
			loops := countingLoops(b)
			for _, l := range loops { // fill
				for _, s := range list {
					l.sentence(viewString(s))
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for round := range b.N {
				from := round * roundSentences % (len(list) - roundSentences)
				for i := range loops {
					loops[i].measure(list[from : from+roundSentences])
				}
			}
			for _, l := range loops {
				b.ReportMetric(l.typical()/perRound, l.name+"-ns/word")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

const roundSentences = 1000

// countingLoop counts the words of sentences in its own way.
type countingLoop struct {
	name     string
	sentence func(s string)
	rounds   []time.Duration
}

func (l *countingLoop) measure(list [][]byte) {
	start := time.Now()
	for _, s := range list {
		l.sentence(viewString(s))
	}
	l.rounds = append(l.rounds, time.Since(start))
}

// typical is the tenth percentile: rounds above it shared the machine.
func (l *countingLoop) typical() float64 {
	slices.Sort(l.rounds)
	return float64(l.rounds[len(l.rounds)/10].Nanoseconds())
}

func countingLoops(b *testing.B) []countingLoop {
	return []countingLoop{
		{name: "map", sentence: mapLoop()},
		{name: "inline", sentence: inlineLoop()},
		{name: "table", sentence: tableLoop(b)},
		{name: "encoded", sentence: encodedLoop(b)},
		{name: "single", sentence: singleLoop(b)},
	}
}

// mapLoop is the best loop over a Go map.
func mapLoop() func(s string) {
	counts := map[string]*int64{}
	return func(s string) {
		for w, s := cutWord(s); w != ""; w, s = cutWord(s) {
			if c := counts[w]; c != nil {
				*c++
				continue
			}
			one := int64(1)
			counts[strings.Clone(w)] = &one
		}
	}
}

func inlineLoop() func(s string) {
	t := newInlineTable(1 << 20)
	return func(s string) {
		for w, s := cutWord(s); w != ""; w, s = cutWord(s) {
			t.add(w)
		}
	}
}

func tableLoop(b *testing.B) func(s string) {
	t := NewTable(mustShape(b, Layout{AddInt}, true), 64)
	return func(s string) {
		for w, s := cutWord(s); w != ""; w, s = cutWord(s) {
			t.AddText(w, 1)
		}
		if err := t.CommitRecord(); err != nil {
			b.Fatal(err)
		}
	}
}

// encodedLoop takes the general way, an encoded key per word.
func encodedLoop(b *testing.B) func(s string) {
	t := NewTable(mustShape(b, Layout{AddInt}, true), 64)
	var key []byte
	return func(s string) {
		for w, s := cutWord(s); w != ""; w, s = cutWord(s) {
			key = AppendText(key[:0], w)
			t.AddInt(key, 1)
		}
		if err := t.CommitRecord(); err != nil {
			b.Fatal(err)
		}
	}
}

// singleLoop makes each word a record of its own.
func singleLoop(b *testing.B) func(s string) {
	t := NewTable(mustShape(b, Layout{AddInt}, true), 64)
	return func(s string) {
		for w, s := cutWord(s); w != ""; w, s = cutWord(s) {
			t.AddText(w, 1)
			if err := t.CommitRecord(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// filled is a table with all words, and its blocks.
func filled(b *testing.B, layout Layout, cells ...Cell) (*Table, [][]byte) {
	t := NewTable(mustShape(b, layout, true), 64)
	for _, w := range words() {
		t.Add(AppendText(nil, w), cells...)
		if err := t.CommitRecord(); err != nil {
			b.Fatal(err)
		}
	}
	blocks := make([][]byte, t.Buckets())
	for i := range blocks {
		blocks[i] = AppendBlock(nil, Header{}, t.Bucket(int32(i)))
	}
	return t, blocks
}

func perEntry(b *testing.B, entries int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(entries), "ns/entry")
}

func BenchmarkEncode(b *testing.B) {
	t, _ := filled(b, Layout{AddInt}, Int(1))
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		for i := range t.Buckets() {
			buf = AppendBlock(buf[:0], Header{}, t.Bucket(int32(i)))
		}
	}
	perEntry(b, distinctWords)
}

func BenchmarkDecode(b *testing.B) {
	t, blocks := filled(b, Layout{AddInt}, Int(1))
	b.ReportAllocs()
	for b.Loop() {
		for _, block := range blocks {
			h, body, err := ParseBlock(block)
			if err != nil {
				b.Fatal(err)
			}
			r := t.shape.Read(body, h.Entries)
			for r.Next() {
			}
		}
	}
	perEntry(b, distinctWords)
}

func BenchmarkMergeBlock(b *testing.B) {
	for _, c := range []struct {
		name   string
		layout Layout
		cells  []Cell
	}{
		{"count", Layout{AddInt}, []Cell{Int(1)}},
		{"count,sum", Layout{AddInt, AddInt | Nullable}, []Cell{Int(1), Int(300)}},
	} {
		t, blocks := filled(b, c.layout, c.cells...)
		for _, fresh := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/fresh=%v", c.name, fresh), func(b *testing.B) {
				mergeBlocks(b, t.shape, blocks, fresh)
			})
		}
	}
}

func mergeBlocks(b *testing.B, shape *Shape, blocks [][]byte, fresh bool) {
	var m Merger
	tables := make([]*BucketTable, len(blocks))
	for i := range tables {
		tables[i] = NewBucketTable(shape)
	}
	b.ReportAllocs()
	for b.Loop() {
		for i, block := range blocks {
			if fresh {
				tables[i] = NewBucketTable(shape)
			}
			h, body, err := ParseBlock(block)
			if err == nil {
				err = m.MergeBlock(tables[i], h, body)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	perEntry(b, distinctWords)
}

func BenchmarkSorted(b *testing.B) {
	t, _ := filled(b, Layout{AddInt}, Int(1))
	var refs []Ref
	b.ReportAllocs()
	for b.Loop() {
		for i := range t.Buckets() {
			refs = t.Bucket(int32(i)).Sorted(refs[:0])
		}
	}
	perEntry(b, distinctWords)
}

func BenchmarkTableReset(b *testing.B) {
	t, _ := filled(b, Layout{AddInt}, Int(1))
	for b.Loop() {
		for _, bucket := range t.buckets {
			clear(bucket.slots)
		}
	}
	perEntry(b, distinctWords)
}

func mustShape(tb testing.TB, layout Layout, combine bool) *Shape {
	tb.Helper()
	s, err := NewShape(layout, combine)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
