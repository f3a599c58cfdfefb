//go:build kafka

package chaos

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/cli/chaos/cell"
)

// feeder makes records, each with an id of its own, and remembers which have to count.
type feeder struct {
	t     testing.TB
	seed  string
	topic string
	cl    *kgo.Client
	adm   *kadm.Client

	mu   sync.Mutex
	rand *rand.Rand
	next []int64 // by partition: ids below it were fed
	// forgotten is, by partition, below which ids may be missing, because their records were deleted.
	forgotten []int64
}

func newFeeder(t testing.TB, seed, topic string, r *rand.Rand) *feeder {
	t.Helper()
	f := &feeder{t: t, seed: seed, topic: topic, rand: r}
	f.cl = f.client()
	f.adm = kadm.NewClient(f.cl)
	return f
}

func (f *feeder) client(opts ...kgo.Opt) *kgo.Client {
	f.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(f.seed), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(f.topic),
		kgo.UnknownTopicRetries(-1), kgo.AlwaysRetryEOF(),
	}, opts...)...)
	must(f.t, err)
	f.t.Cleanup(cl.Close)
	return cl
}

// create makes the topic; it and its exchanges go away with the test.
func (f *feeder) create(partitions int32, settings map[string]string) {
	f.t.Helper()
	configs := map[string]*string{}
	for k, v := range settings {
		configs[k] = &v
	}
	_, err := f.adm.CreateTopic(context.Background(), partitions, 1, configs, f.topic)
	must(f.t, err)
	f.awaits(int(partitions))
	f.next = make([]int64, partitions)
	f.t.Cleanup(func() { _, _ = f.adm.DeleteTopic(context.Background(), f.topic) })
}

// awaits waits until every partition has a leader that answers.
func (f *feeder) awaits(partitions int) {
	f.t.Helper()
	eventually(f.t, "leaders of the topic", func() bool {
		ends, err := f.adm.ListEndOffsets(context.Background(), f.topic)
		return err == nil && ends.Error() == nil && len(ends[f.topic]) == partitions
	})
}

// grow adds partitions to the topic, and feeds them from now on.
func (f *feeder) grow(by int) {
	f.t.Helper()
	answers, err := f.adm.CreatePartitions(context.Background(), by, f.topic)
	must(f.t, err)
	must(f.t, answers.Error())
	f.awaits(len(f.next) + by)
	aware := f.client() // one that has not seen the topic when it was smaller
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cl, f.next = aware, append(f.next, make([]int64, by)...)
}

// feed produces n records, partition by partition in runs of random length, and returns when all are in.
func (f *feeder) feed(n int) {
	f.t.Helper()
	records := make([]*kgo.Record, 0, n)
	f.mu.Lock()
	for len(records) < n {
		p := f.rand.IntN(len(f.next))
		for range min(1+f.rand.IntN(200), n-len(records)) {
			records = append(records, f.record(int32(p)))
		}
	}
	cl := f.cl
	f.mu.Unlock()
	must(f.t, cl.ProduceSync(context.Background(), records...).FirstErr())
}

// record makes the next record of a partition; f.mu is held.
func (f *feeder) record(p int32) *kgo.Record {
	id := cell.ID(p, f.next[p])
	f.next[p]++
	return &kgo.Record{Partition: p, Value: []byte(id + " " + padding[:f.rand.IntN(len(padding))])}
}

var padding = strings.Repeat("x", 24)

// feeding produces n records in small pieces while the caller does other things; stop waits for the last.
func (f *feeder) feeding(n int) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		const piece = 500
		for ; n > 0; n -= piece {
			f.feed(min(n, piece))
		}
	}()
	return func() { <-done }
}

// fed is how many records have to count.
func (f *feeder) fed() (n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.next {
		n += k
	}
	return n
}
