package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// makeTopic creates the benchmark's topic; one that is there already is an error, because what it
// holds would be counted.
func makeTopic(ctx context.Context, seeds []string, topic string, partitions int) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(seeds...))
	if err != nil {
		return fmt.Errorf("opening a Kafka client: %w", err)
	}
	defer cl.Close()
	_, err = kadm.NewClient(cl).CreateTopic(ctx, int32(partitions), 1, nil, topic)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("creating topic %s: it exists; name another with --topic, or delete it", topic)
	}
	if err != nil {
		return fmt.Errorf("creating topic %s: %w", topic, err)
	}
	return nil
}

func dropTopic(ctx context.Context, seeds []string, topic string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(seeds...))
	if err != nil {
		return fmt.Errorf("opening a Kafka client: %w", err)
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).DeleteTopic(ctx, topic); err != nil {
		return fmt.Errorf("deleting topic %s: %w", topic, err)
	}
	return nil
}

// fill produces the sentences, each partition its own share, and reports progress in records.
func fill(ctx context.Context, seeds []string, topic string, partitions int, records int64, t *Text, progress func(int64)) error {
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(seeds...), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(20_000),
	)
	if err != nil {
		return fmt.Errorf("opening a producer: %w", err)
	}
	defer cl.Close()
	var first atomic.Pointer[error]
	var running sync.WaitGroup
	var sent atomic.Int64
	for w := range 2 {
		running.Add(1)
		go func() {
			defer running.Done()
			fillShare(ctx, cl, w, 2, partitions, records, t, func(err error) {
				if err != nil {
					first.CompareAndSwap(nil, &err)
				} else if n := sent.Add(1); n%100_000 == 0 {
					progress(n)
				}
			}, func() bool { return first.Load() != nil })
		}()
	}
	running.Wait()
	if err := cl.Flush(ctx); err != nil {
		return fmt.Errorf("filling topic %s: %w", topic, err)
	}
	if err := first.Load(); err != nil {
		return fmt.Errorf("filling topic %s: %w", topic, *err)
	}
	progress(records)
	return ctx.Err()
}

// fillShare produces to every of-th partition.
func fillShare(ctx context.Context, cl *kgo.Client, share, of, partitions int, records int64, t *Text, done func(error), stop func() bool) {
	type lane struct {
		partition int32
		next      func([]byte) []byte
		left      int64
	}
	var lanes []lane
	for p := share; p < partitions; p += of {
		n := records / int64(partitions)
		if int64(p) < records%int64(partitions) {
			n++
		}
		lanes = append(lanes, lane{int32(p), t.Source(p), n})
	}
	const run = 100 // records in a row to one partition
	for len(lanes) > 0 && ctx.Err() == nil && !stop() {
		kept := lanes[:0]
		for _, l := range lanes {
			for i := 0; i < run && l.left > 0; i++ {
				cl.Produce(ctx, &kgo.Record{Partition: l.partition, Value: l.next(make([]byte, 0, t.bytes+16))}, func(_ *kgo.Record, err error) { done(err) })
				l.left--
			}
			if l.left > 0 {
				kept = append(kept, l)
			}
		}
		lanes = kept
	}
}
