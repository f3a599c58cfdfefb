package brokertest

import (
	"errors"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

var errorTests = []namedTest{
	{"past the end is out of range", func(b *bench) {
		name := b.topic(1)
		b.fill(name, 0, numbers(5)...)
		r := b.reader(broker.ReaderConfig{Topic: name})
		r.Seek(0, 6)
		b.outOfRange(r, 6, broker.Offsets{Start: 0, Stable: 5, End: 5})
	}},
	{"below the start is out of range, and a seek goes on", func(b *bench) {
		name := b.topic(1)
		b.fill(name, 0, numbers(10)...)
		b.must(b.Broker.Trim(b.ctx, name, at(4)))
		r := b.reader(broker.ReaderConfig{Topic: name})
		r.Seek(0, 3)
		b.outOfRange(r, 3, broker.Offsets{Start: 4, Stable: 10, End: 10})
		r.Seek(0, 4)
		b.equal("values", b.readUntil(r, at(4), at(10))[0].values, numbers(10)[4:])
	}},
	{"of one partition do not stop another", func(b *bench) {
		name := b.topic(2)
		b.fill(name, 1, "x")
		r := b.reader(broker.ReaderConfig{Topic: name})
		r.Seek(0, 99)
		b.awaitError(r)
		r.Seek(1, 0)
		b.equal("values", b.readUntil(r, nil, map[int32]runtime.Offset{1: 1})[1].values, []string{"x"})
	}},
	{"name a topic that is missing", func(b *bench) {
		r := b.reader(broker.ReaderConfig{Topic: b.name()})
		r.Seek(0, 0)
		b.isError(b.awaitError(r).Err, broker.ErrNoTopic)
	}},
	{"name a topic that was deleted while it was read", func(b *bench) {
		name := b.topic(1)
		b.fill(name, 0, "x")
		r := b.reader(broker.ReaderConfig{Topic: name, TopicID: b.describe(name).ID})
		r.Seek(0, 0)
		b.readUntil(r, nil, at(1))
		b.must(b.Broker.DeleteTopic(b.ctx, name))
		b.isError(b.awaitError(r).Err, broker.ErrNoTopic)
	}},
	{"tell a topic that was created again", func(b *bench) {
		name := b.topic(1)
		old := b.describe(name).ID
		b.recreate(name, 1)
		b.fill(name, 0, "of another life")
		r := b.reader(broker.ReaderConfig{Topic: name, TopicID: old})
		r.Seek(0, 0)
		b.recreated(b.awaitError(r), old, b.describe(name).ID)
	}},
	{"tell a topic that was created again while it was read", func(b *bench) {
		name := b.topic(1)
		old := b.describe(name).ID
		b.fill(name, 0, "x")
		r := b.reader(broker.ReaderConfig{Topic: name, TopicID: old})
		r.Seek(0, 0)
		b.readUntil(r, nil, at(1))
		b.recreate(name, 1)
		b.fill(name, 0, "a", "b")
		b.recreated(b.awaitError(r), old, b.describe(name).ID)
	}},
	{"of a partition that is not there yet pass", func(b *bench) {
		name := b.topic(1)
		r := b.reader(broker.ReaderConfig{Topic: name})
		r.Seek(2, 0)
		f := b.poll(r)
		b.equal("errors", len(f.Errors), 1)
		b.equal("partition and passing", []any{f.Errors[0].Partition, f.Errors[0].Passing}, []any{2, true})
		b.Grow(b, name, 3)
		b.fill(name, 2, "new")
		b.equal("values", b.readUntil(r, nil, map[int32]runtime.Offset{2: 1})[2].values, []string{"new"})
	}},
}

func (b *bench) outOfRange(r broker.Reader, want runtime.Offset, bounds broker.Offsets) {
	b.Helper()
	e := b.awaitError(r)
	var out *broker.OutOfRangeError
	if !errors.As(e.Err, &out) {
		b.Fatalf("got error %v, want an OutOfRangeError", e.Err)
	}
	b.equal("offset", out.At, want)
	b.equal("bounds", out.Offsets, bounds)
}

func (b *bench) recreated(e broker.PartitionError, want, got runtime.TopicID) {
	b.Helper()
	var re *broker.RecreatedError
	if !errors.As(e.Err, &re) {
		b.Fatalf("got error %v, want a RecreatedError", e.Err)
	}
	b.equal("ids", []runtime.TopicID{re.Want, re.Got}, []runtime.TopicID{want, got})
}
