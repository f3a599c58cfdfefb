package kafka_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/connectors/kafka"
	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/broker/brokertest"
)

// feeder is the other side of a topic: whoever creates and fills it.
type feeder struct {
	seeds []string
	cl    *kgo.Client
	adm   *kadm.Client
}

func newFeeder(t testing.TB, seeds ...string) *feeder {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(50*time.Millisecond), kgo.ProducerLinger(0), kgo.UnknownTopicRetries(20))
	must(t, err)
	t.Cleanup(cl.Close)
	return &feeder{seeds: seeds, cl: cl, adm: kadm.NewClient(cl)}
}

func (f *feeder) create(t testing.TB, topic string, partitions int, settings ...string) {
	t.Helper()
	configs := make(map[string]*string)
	for i := 0; i+1 < len(settings); i += 2 {
		configs[settings[i]] = &settings[i+1]
	}
	resp, err := f.adm.CreateTopic(t.Context(), int32(partitions), 1, configs, topic)
	must(t, err)
	must(t, resp.Err)
	f.cl.PurgeTopicsFromClient(topic) // whatever it knows is of an earlier life
	f.settle(t, topic, partitions)
}

// settle waits until the topic can be used.
func (f *feeder) settle(t testing.TB, topic string, partitions int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s has %d partitions with leaders", topic, partitions), func() bool {
		offsets, err := f.adm.ListEndOffsets(t.Context(), topic)
		return err == nil && offsets.Error() == nil && len(offsets[topic]) == partitions
	})
}

func (f *feeder) grow(t testing.TB, topic string, partitions int) {
	t.Helper()
	resp, err := f.adm.UpdatePartitions(t.Context(), partitions, topic)
	must(t, err)
	must(t, resp.Error())
	f.settle(t, topic, partitions)
}

func records(topic string, partition int32, in []broker.Record) []*kgo.Record {
	var out []*kgo.Record
	for _, r := range in {
		o := &kgo.Record{Topic: topic, Partition: partition, Key: r.Key, Value: r.Value}
		if r.Timestamp != 0 {
			o.Timestamp = time.UnixMilli(r.Timestamp)
		}
		for _, h := range r.Headers {
			o.Headers = append(o.Headers, kgo.RecordHeader(h))
		}
		out = append(out, o)
	}
	return out
}

func (f *feeder) produce(t testing.TB, topic string, partition int32, in ...broker.Record) {
	t.Helper()
	must(t, f.cl.ProduceSync(t.Context(), records(topic, partition, in)...).FirstErr())
}

// begin begins a transaction with a producer of its own, so that several can be open at once.
func (f *feeder) begin(t testing.TB) brokertest.Txn {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(f.seeds...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(50*time.Millisecond), kgo.TransactionalID(fmt.Sprintf("brokertest.%08x", rand.Uint32())))
	must(t, err)
	t.Cleanup(cl.Close)
	must(t, cl.BeginTransaction())
	return txn{cl}
}

type txn struct{ cl *kgo.Client }

func (x txn) Produce(t testing.TB, topic string, partition int32, in ...broker.Record) {
	t.Helper()
	must(t, x.cl.ProduceSync(t.Context(), records(topic, partition, in)...).FirstErr())
}

func (x txn) Commit(t testing.TB) {
	t.Helper()
	must(t, x.cl.EndTransaction(t.Context(), kgo.TryCommit))
}

func (x txn) Abort(t testing.TB) {
	t.Helper()
	must(t, x.cl.EndTransaction(context.WithoutCancel(t.Context()), kgo.TryAbort))
}

func open(t testing.TB, cfg kafka.Config) *kafka.Broker {
	t.Helper()
	b, err := kafka.Open(t.Context(), cfg)
	must(t, err)
	t.Cleanup(b.Close)
	return b
}

func harness(t testing.TB, seeds ...string) brokertest.Harness {
	f := newFeeder(t, seeds...)
	return brokertest.Harness{
		Broker:  open(t, kafka.Config{Seeds: seeds}),
		Create:  func(t testing.TB, topic string, partitions int) { f.create(t, topic, partitions) },
		Grow:    f.grow,
		Produce: f.produce,
		Begin:   f.begin,
	}
}

func fake(t testing.TB, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); {
		if time.Now().After(deadline) {
			t.Fatalf("never came true: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// drain reads a partition until its position reaches an offset.
func drain(t testing.TB, r broker.Reader, until runtime.Offset) (values []string, next runtime.Offset) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for next < until {
		f, err := r.Poll(ctx)
		must(t, err)
		if ctx.Err() != nil {
			t.Fatalf("the position stays at %d, want %d", next, until)
		}
		for _, e := range f.Errors {
			if !e.Passing {
				t.Fatal(e.Err)
			}
		}
		for _, c := range f.Chunks {
			for _, rec := range c.Records {
				values = append(values, string(rec.Value))
			}
			next = c.Next
		}
		f.Release()
	}
	return values, next
}

func retention(ms string) []kadm.AlterConfig {
	return []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &ms}}
}
