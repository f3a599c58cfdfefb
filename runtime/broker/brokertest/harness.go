package brokertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

// Harness is a broker under test, and the hands of those who feed it. It may be shared with other
// tests: the suite makes topics with names of its own.
type Harness struct {
	Broker broker.Broker
	// Create makes a topic for users' records, and returns once it can be used.
	Create func(t testing.TB, topic string, partitions int)
	// Grow gives a topic more partitions.
	Grow func(t testing.TB, topic string, partitions int)
	// Produce appends records in one batch; their offsets are ignored, a timestamp of 0 is now.
	Produce func(t testing.TB, topic string, partition int32, records ...broker.Record)
	// Begin begins a transaction.
	Begin func(t testing.TB) Txn
}

// Txn is a transaction of a producer. Commit and Abort write a marker that takes an offset.
type Txn interface {
	Produce(t testing.TB, topic string, partition int32, records ...broker.Record)
	Commit(t testing.TB)
	Abort(t testing.TB)
}

// Run runs the suite. open is called once a test and cleans up after itself.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, group := range []struct {
		name  string
		tests []namedTest
	}{
		{"topic", topicTests},
		{"offsets", offsetTests},
		{"exchange", exchangeTests},
		{"reader", readerTests},
		{"seek", seekTests},
		{"errors", errorTests},
		{"transactions", transactionTests},
		{"appender", appenderTests},
	} {
		for _, test := range group.tests {
			t.Run(group.name+"/"+test.name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				test.run(&bench{T: t, Harness: open(t), ctx: ctx})
			})
		}
	}
}

// patience bounds a test that waits for something that does not come.
const patience = time.Minute

type namedTest struct {
	name string
	run  func(*bench)
}

// bench is one test at work.
type bench struct {
	*testing.T
	Harness
	ctx context.Context
}

// topic makes a topic with a name of its own.
func (b *bench) topic(partitions int) string {
	b.Helper()
	name := b.name()
	b.Create(b, name, partitions)
	b.Cleanup(func() { _ = b.Broker.DeleteTopic(context.WithoutCancel(b.ctx), name) })
	return name
}

func (b *bench) name() string { return fmt.Sprintf("brokertest.%08x", rand.Uint32()) }

// fill produces the values, one batch.
func (b *bench) fill(topic string, partition int32, values ...string) {
	b.Helper()
	b.Produce(b, topic, partition, valued(values)...)
}

func valued(values []string) []broker.Record {
	var records []broker.Record
	for _, v := range values {
		records = append(records, broker.Record{Value: []byte(v)})
	}
	return records
}

// numbers answers the values from "0" to "n-1".
func numbers(n int) []string {
	var values []string
	for i := range n {
		values = append(values, fmt.Sprint(i))
	}
	return values
}

func (b *bench) offsets(topic string) map[int32]broker.Offsets {
	b.Helper()
	o, err := b.Broker.Offsets(b.ctx, topic)
	b.must(err)
	return o
}

func (b *bench) describe(topic string) broker.Topic {
	b.Helper()
	t, err := b.Broker.Topic(b.ctx, topic)
	b.must(err)
	return t
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// reader opens a reader that is closed with the test.
func (b *bench) reader(cfg broker.ReaderConfig) broker.Reader {
	b.Helper()
	r, err := b.Broker.NewReader(cfg)
	b.must(err)
	b.Cleanup(r.Close)
	return r
}

// log is what was read of a partition.
type log struct {
	values  []string
	offsets []runtime.Offset
	next    runtime.Offset
}

// readUntil polls until each partition's position has reached an offset. It checks what must hold for
// every chunk: it starts where the last one ended, its records are in order and before Next.
func (b *bench) readUntil(r broker.Reader, from, until map[int32]runtime.Offset) map[int32]*log {
	b.Helper()
	logs := make(map[int32]*log)
	for p := range until {
		logs[p] = &log{next: from[p]}
	}
	for !reached(logs, until) {
		f := b.poll(r)
		for _, e := range f.Errors {
			if !e.Passing {
				b.Fatalf("partition %d: %v", e.Partition, e.Err)
			}
		}
		for _, c := range f.Chunks {
			l, ok := logs[c.Partition]
			if !ok {
				b.Fatalf("records of partition %d, which is not read", c.Partition)
			}
			b.add(l, c)
		}
		f.Release()
	}
	return logs
}

func reached(logs map[int32]*log, until map[int32]runtime.Offset) bool {
	for p, at := range until {
		if logs[p].next < at {
			return false
		}
	}
	return true
}

func (b *bench) add(l *log, c broker.Chunk) {
	b.Helper()
	for _, rec := range c.Records {
		if rec.Offset < l.next {
			b.Fatalf("partition %d: offset %d after the position was %d", c.Partition, rec.Offset, l.next)
		}
		l.next = rec.Offset + 1
		l.values = append(l.values, string(rec.Value))
		l.offsets = append(l.offsets, rec.Offset)
	}
	if c.Next < l.next {
		b.Fatalf("partition %d: the chunk ends at %d, before its last record or the chunk before, %d", c.Partition, c.Next, l.next)
	}
	l.next = c.Next
}

// poll polls once, and fails the test when its patience is at an end.
func (b *bench) poll(r broker.Reader) broker.Fetch {
	b.Helper()
	f, err := r.Poll(b.ctx)
	b.must(err)
	if len(f.Chunks)+len(f.Errors) == 0 {
		b.Fatal("nothing came: waited for records, or for an error, in vain")
	}
	return f
}

// awaitError polls until a partition has an error that does not pass.
func (b *bench) awaitError(r broker.Reader) broker.PartitionError {
	b.Helper()
	for {
		f := b.poll(r)
		f.Release()
		for _, e := range f.Errors {
			if !e.Passing {
				return e
			}
		}
	}
}

func (b *bench) equal(what string, got, want any) {
	b.Helper()
	if g, w := fmt.Sprintf("%v", got), fmt.Sprintf("%v", want); g != w {
		b.Fatalf("%s: got %s, want %s", what, g, w)
	}
}

func at(o runtime.Offset) map[int32]runtime.Offset { return map[int32]runtime.Offset{0: o} }
