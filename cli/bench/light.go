package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
)

// Light is the latency under light load: from the producer's acknowledgement of a record to the
// SELECT of another process that sees it.
type Light struct {
	Seconds    int     `json:"seconds"`
	Samples    int     `json:"samples"`
	P50        float64 `json:"p50_ms"`
	P99        float64 `json:"p99_ms"`
	Max        float64 `json:"max_ms"`
	RecordRate int     `json:"records_per_second"`
}

const (
	lightRate   = 1000 // records a second
	lightSample = 20   // every so many records carry a marker
)

// light runs the topology on a trickle of new records.
func light(ctx context.Context, c *Config, s *servers, t *Text, progress func(string, float64)) (*Light, error) {
	n, err := startNode(c, s, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = n.stop() }()
	for { // it runs, and has nothing left to read
		if _, ok := n.read(ctx); ok {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-n.ended:
			return nil, fmt.Errorf("sr run ended: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	l := &lightRun{acked: map[string]waiting{}, buckets: c.Buckets}
	conn, err := independentReader(ctx, s.postgres)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := make(chan error, 1)
	go func() { sent <- l.send(ctx, c, s, t, progress) }()
	for done := false; !done || l.open() > 0; {
		select {
		case err := <-sent:
			if err != nil {
				return nil, err
			}
			done = true
		case <-time.After(time.Millisecond):
		}
		if err := l.look(ctx, conn); err != nil {
			return nil, err
		}
	}
	warm := len(l.latencies) / 20 // the first moments open connections and writers
	ms := l.latencies[warm:]
	return &Light{Seconds: c.Light, Samples: len(ms), P50: quantile(ms, 0.5), P99: quantile(ms, 0.99), Max: quantile(ms, 1), RecordRate: lightRate}, nil
}

type lightRun struct {
	mu        sync.Mutex
	acked     map[string]waiting
	buckets   int
	latencies []float64
}

func (l *lightRun) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// send produces at the rate, and notes the acknowledgement of every record with a marker.
func (l *lightRun) send(ctx context.Context, c *Config, s *servers, t *Text, progress func(string, float64)) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.kafka...), kgo.DefaultProduceTopic(c.Topic), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		return fmt.Errorf("opening a producer: %w", err)
	}
	defer cl.Close()
	next := t.Source(c.Partitions) // sentences that the topic does not hold yet
	start := time.Now()
	var first error
	var mu sync.Mutex
	for i := range c.Light * lightRate {
		due := start.Add(time.Duration(i) * time.Second / lightRate)
		if d := time.Until(due); d > 0 {
			time.Sleep(d)
		}
		if ctx.Err() != nil {
			return nil
		}
		r := &kgo.Record{Partition: int32(i % c.Partitions), Value: next(nil)}
		word := ""
		if i%lightSample == 0 {
			word = fmt.Sprintf("~light-%d", i)
			r.Value = append([]byte(word+" "), r.Value...)
		}
		cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				first = fmt.Errorf("producing under light load: %w", err)
			} else if word != "" {
				l.note(word)
			}
		})
		if i%lightRate == 0 {
			progress("light load", float64(i)/float64(c.Light*lightRate))
		}
	}
	if err := cl.Flush(ctx); err != nil {
		return fmt.Errorf("producing under light load: %w", err)
	}
	mu.Lock()
	defer mu.Unlock()
	return first
}

func (l *lightRun) note(word string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[word] = waiting{time.Now(), exchange.Bucket(exchange.AppendText(nil, word), l.buckets)}
}

// look asks which acknowledged markers are visible.
func (l *lightRun) look(ctx context.Context, conn *pgx.Conn) error {
	l.mu.Lock()
	var buckets []runtime.Bucket
	var words []string
	for word, m := range l.acked {
		buckets, words = append(buckets, m.bucket), append(words, word)
	}
	l.mu.Unlock()
	if len(words) == 0 {
		return nil
	}
	rows, err := conn.Query(ctx, seenMarkers, buckets, words)
	if err != nil {
		return fmt.Errorf("looking for markers: %w", err)
	}
	seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("looking for markers: %w", err)
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, word := range seen {
		l.latencies = append(l.latencies, float64(now.Sub(l.acked[word].since).Microseconds())/1000)
		delete(l.acked, word)
	}
	return nil
}
