package bench

import (
	"bytes"
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Loop is what a plain consumer reached: split and count, no output.
type Loop struct {
	Records    int64   `json:"records"`
	Words      int64   `json:"words"`
	Seconds    float64 `json:"seconds"`
	RecordRate float64 `json:"records_per_second"`
	CPU        float64 `json:"cpu_micros_per_record"`
}

// loop consumes the topic with n counting goroutines on n processors until so many records are
// counted, and measures between the first and the last tenth.
func loop(ctx context.Context, seeds []string, topic string, partitions, n int, records int64) (*Loop, error) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(n))
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(seeds...),
		kgo.ConsumePartitions(allPartitions(topic, partitions)),
		kgo.FetchMaxBytes(16<<20), kgo.FetchMaxPartitionBytes(4<<20),
		kgo.DisableFetchSessions(), kgo.WithPools(new(recordPool)),
	)
	if err != nil {
		return nil, fmt.Errorf("opening a consumer for the plain loop: %w", err)
	}
	defer cl.Close()
	m := &meter{total: records}
	counts := make([]*counter, n)
	work := make([]chan []*kgo.Record, n)
	var running sync.WaitGroup
	for i := range n {
		counts[i], work[i] = newCounter(), make(chan []*kgo.Record, 4)
		running.Add(1)
		go func() {
			defer running.Done()
			for batch := range work[i] {
				for _, r := range batch {
					counts[i].add(r.Value)
				}
				m.add(int64(len(batch)))
				for _, r := range batch {
					r.Recycle()
				}
			}
		}()
	}
	for handed := int64(0); handed < records && ctx.Err() == nil; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("reading %s in the plain loop: %w", topic, err)
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) > 0 {
				handed += int64(len(p.Records))
				work[int(p.Partition)%n] <- p.Records
			}
		})
	}
	for i := range work {
		close(work[i])
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l := m.loop()
	for _, c := range counts {
		l.Words += c.words
	}
	return &l, nil
}

func allPartitions(topic string, n int) map[string]map[int32]kgo.Offset {
	at := map[int32]kgo.Offset{}
	for p := range int32(n) {
		at[p] = kgo.NewOffset().AtStart()
	}
	return map[string]map[int32]kgo.Offset{topic: at}
}

// counter is the best of the plain maps: values behind pointers, looked up by views.
type counter struct {
	counts map[string]*int64
	words  int64
}

func newCounter() *counter { return &counter{counts: map[string]*int64{}} }

func (c *counter) add(sentence []byte) {
	for len(sentence) > 0 {
		word := sentence
		if i := bytes.IndexByte(sentence, ' '); i >= 0 {
			word, sentence = sentence[:i], sentence[i+1:]
		} else {
			sentence = nil
		}
		if len(word) == 0 {
			continue
		}
		c.words++
		if n := c.counts[string(word)]; n != nil {
			*n++
			continue
		}
		one := int64(1)
		c.counts[string(word)] = &one
	}
}

// meter measures a rate between the first and the last tenth of a number of records.
type meter struct {
	total    int64
	done     atomic.Int64
	mu       sync.Mutex
	begun    time.Time
	begunAt  int64
	begunCPU time.Duration
	ended    time.Time
	endedAt  int64
	endedCPU time.Duration
}

func (m *meter) add(n int64) {
	done := m.done.Add(n)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun.IsZero() && done >= m.total/10 {
		m.begun, m.begunAt, m.begunCPU = time.Now(), done, ownCPU()
	}
	if m.ended.IsZero() && done >= m.total*9/10 {
		m.ended, m.endedAt, m.endedCPU = time.Now(), done, ownCPU()
	}
}

func (m *meter) loop() Loop {
	records, seconds := m.endedAt-m.begunAt, m.ended.Sub(m.begun).Seconds()
	return Loop{
		Records: records, Seconds: seconds, RecordRate: float64(records) / seconds,
		CPU: (m.endedCPU - m.begunCPU).Seconds() * 1e6 / float64(records),
	}
}

// recordPool keeps the memory of records between fetches.
type recordPool struct{ slabs sync.Pool }

func (p *recordPool) GetRecords(n int) []kgo.Record {
	if s, ok := p.slabs.Get().(*[]kgo.Record); ok && cap(*s) >= n {
		return (*s)[:n]
	}
	return make([]kgo.Record, n)
}

func (p *recordPool) PutRecords(s []kgo.Record) { p.slabs.Put(&s) }
