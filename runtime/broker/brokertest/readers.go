package brokertest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

var readerTests = []namedTest{
	{"reads all records in order, whatever the size of a fetch", func(b *bench) {
		name := b.topic(3)
		want := make(map[int32][]string)
		until := make(map[int32]runtime.Offset)
		for p := range int32(3) {
			for batch := range 10 {
				var values []string
				for i := range 20 {
					values = append(values, strings.Repeat("x", 100*batch)+numbers(20)[i])
				}
				b.fill(name, p, values...)
				want[p] = append(want[p], values...)
			}
			until[p] = 200
		}
		r := b.reader(broker.ReaderConfig{Topic: name, MaxBytes: 10_000, MaxPartitionBytes: 3_000})
		for p := range until {
			r.Seek(p, 0)
		}
		for p, l := range b.readUntil(r, nil, until) {
			b.equal("values", l.values, want[p])
			b.equal("position", l.next, 200)
		}
	}},
	{"keeps key, value, headers and time", func(b *bench) {
		name := b.topic(1)
		b.Produce(b, name, 0,
			broker.Record{Timestamp: 1_700_000_000_123, Key: []byte("k"), Value: []byte("v"), Headers: []broker.Header{{Key: "h", Value: []byte("1")}, {Key: "h", Value: []byte("2")}}},
			broker.Record{Timestamp: 1_700_000_000_124, Value: []byte{}})
		r := b.reader(broker.ReaderConfig{Topic: name})
		r.Seek(0, 0)
		f := b.poll(r)
		defer f.Release()
		first, second := f.Chunks[0].Records[0], f.Chunks[0].Records[1]
		b.equal("time", first.Timestamp, 1_700_000_000_123)
		b.equal("key", string(first.Key), "k")
		b.equal("value", string(first.Value), "v")
		b.equal("headers", first.Headers, []broker.Header{{Key: "h", Value: []byte("1")}, {Key: "h", Value: []byte("2")}})
		b.equal("headers of a record without", len(second.Headers), 0)
		if second.Key != nil || second.Value == nil {
			b.Fatalf("no key and an empty value came as %v and %v", second.Key, second.Value)
		}
	}},
	{"waits for records", func(b *bench) {
		name := b.topic(1)
		r := b.reader(broker.ReaderConfig{Topic: name})
		r.Seek(0, 0)
		ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
		defer cancel()
		f, err := r.Poll(ctx)
		b.must(err)
		b.equal("chunks of an empty topic", len(f.Chunks), 0)
		b.fill(name, 0, "late")
		b.equal("values", b.readUntil(r, nil, at(1))[0].values, []string{"late"})
	}},
	{"answers an empty fetch when the context ends", func(b *bench) {
		r := b.reader(broker.ReaderConfig{Topic: b.topic(1)})
		r.Seek(0, 0)
		ctx, cancel := context.WithCancel(b.ctx)
		time.AfterFunc(50*time.Millisecond, cancel)
		f, err := r.Poll(ctx)
		b.must(err)
		b.equal("chunks", len(f.Chunks), 0)
		f.Release()
	}},
	{"ends a poll when it is closed", func(b *bench) {
		r := b.reader(broker.ReaderConfig{Topic: b.topic(1)})
		r.Seek(0, 0)
		time.AfterFunc(50*time.Millisecond, r.Close)
		if _, err := r.Poll(b.ctx); err == nil {
			b.Fatal("a closed reader polls without an error")
		}
	}},
	{"keeps records until they are released", func(b *bench) {
		name := b.topic(1)
		values := numbers(500)
		for _, v := range values {
			b.fill(name, 0, v)
		}
		r := b.reader(broker.ReaderConfig{Topic: name, MaxBytes: 2_000, MaxPartitionBytes: 1_000})
		r.Seek(0, 0)
		var held []broker.Fetch
		for next := runtime.Offset(0); next < 500; {
			f := b.poll(r)
			held = append(held, f)
			next = f.Chunks[len(f.Chunks)-1].Next
		}
		var got []string
		for _, f := range held {
			for _, c := range f.Chunks {
				for _, rec := range c.Records {
					got = append(got, string(rec.Value))
				}
			}
			f.Release()
		}
		b.equal("values", got, values)
	}},
	{"tells with each chunk where the partition ends for the reader", func(b *bench) {
		name := b.topic(1)
		b.fill(name, 0, numbers(100)...)
		txn := b.Begin(b)
		txn.Produce(b, name, 0, valued(numbers(10))...)
		for committed, end := range map[bool]runtime.Offset{true: 100, false: 110} {
			r := b.reader(broker.ReaderConfig{Topic: name, ReadCommitted: committed, MaxBytes: 1_000, MaxPartitionBytes: 100})
			r.Seek(0, 0)
			for next := runtime.Offset(0); next < end; {
				f := b.poll(r)
				for _, c := range f.Chunks {
					b.equal(fmt.Sprintf("end of a chunk before %d, committed %t", c.Next, committed), c.End, end)
					next = c.Next
				}
				f.Release()
			}
		}
		txn.Commit(b)
	}},
	{"reads a record larger than a fetch", func(b *bench) {
		name := b.topic(1)
		big := strings.Repeat("b", 200_000)
		b.fill(name, 0, "a")
		b.fill(name, 0, big)
		r := b.reader(broker.ReaderConfig{Topic: name, MaxBytes: 10_000, MaxPartitionBytes: 10_000})
		r.Seek(0, 0)
		b.equal("values", b.readUntil(r, nil, at(2))[0].values, []string{"a", big})
	}},
}

var seekTests = []namedTest{
	{"starts in the middle of a batch", func(b *bench) {
		name := b.topic(1)
		b.fill(name, 0, numbers(10)...)
		r := b.reader(broker.ReaderConfig{Topic: name})
		r.Seek(0, 7)
		b.equal("values", b.readUntil(r, at(7), at(10))[0].values, []string{"7", "8", "9"})
	}},
	{"goes back and forth, and drops what was fetched before", func(b *bench) {
		name := b.topic(1)
		for _, v := range numbers(100) {
			b.fill(name, 0, v)
		}
		r := b.reader(broker.ReaderConfig{Topic: name, MaxBytes: 1_000, MaxPartitionBytes: 500})
		for _, from := range []runtime.Offset{0, 90, 3, 50, 0, 99, 100} {
			r.Seek(0, from)
			if from == 100 {
				b.fill(name, 0, "100")
			}
			f := b.poll(r)
			b.equal("first record after a seek", f.Chunks[0].Records[0].Offset, from)
			f.Release()
		}
	}},
	{"leaves a partition", func(b *bench) {
		name := b.topic(2)
		r := b.reader(broker.ReaderConfig{Topic: name, MaxWait: 20 * time.Millisecond})
		r.Seek(0, 0)
		r.Seek(1, 0)
		b.fill(name, 0, "a")
		b.fill(name, 1, "a")
		b.readUntil(r, nil, map[int32]runtime.Offset{0: 1, 1: 1})
		b.fill(name, 0, "b")
		r.Leave(0)
		b.fill(name, 1, "b", "c")
		b.equal("values", b.readUntil(r, map[int32]runtime.Offset{1: 1}, map[int32]runtime.Offset{1: 3})[1].values, []string{"b", "c"})
		r.Seek(0, 1)
		b.equal("values after coming back", b.readUntil(r, at(1), at(2))[0].values, []string{"b"})
	}},
	{"pauses a partition and resumes where it was", func(b *bench) {
		name := b.topic(2)
		r := b.reader(broker.ReaderConfig{Topic: name, MaxWait: 20 * time.Millisecond})
		r.Seek(0, 0)
		r.Seek(1, 0)
		b.fill(name, 0, "a")
		b.readUntil(r, nil, map[int32]runtime.Offset{0: 1, 1: 0})
		r.Pause(0)
		b.fill(name, 0, "b")
		b.fill(name, 1, "x")
		b.readUntil(r, nil, map[int32]runtime.Offset{1: 1})
		r.Resume(0)
		b.equal("values after resuming", b.readUntil(r, at(1), at(2))[0].values, []string{"b"})
	}},
	{"stays paused over a seek, not over a leave", func(b *bench) {
		name := b.topic(2)
		b.fill(name, 0, "a", "b")
		r := b.reader(broker.ReaderConfig{Topic: name, MaxWait: 20 * time.Millisecond})
		r.Seek(0, 0)
		r.Seek(1, 0)
		r.Pause(0)
		r.Seek(0, 1)
		b.fill(name, 1, "x")
		b.readUntil(r, nil, map[int32]runtime.Offset{1: 1})
		r.Leave(0)
		r.Seek(0, 1)
		b.equal("values", b.readUntil(r, at(1), at(2))[0].values, []string{"b"})
	}},
}
