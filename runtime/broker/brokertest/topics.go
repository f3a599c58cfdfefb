package brokertest

import (
	"errors"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

var topicTests = []namedTest{
	{"is described with its id and partitions", func(b *bench) {
		name := b.topic(3)
		got := b.describe(name)
		b.equal("partitions", got.Partitions, 3)
		b.equal("name", got.Name, name)
		if got.ID.IsZero() {
			b.Fatal("the topic has no id")
		}
		b.equal("id the second time", b.describe(name).ID, got.ID)
	}},
	{"that is missing is ErrNoTopic", func(b *bench) {
		_, err := b.Broker.Topic(b.ctx, b.name())
		b.isError(err, broker.ErrNoTopic)
		_, err = b.Broker.Offsets(b.ctx, b.name())
		b.isError(err, broker.ErrNoTopic)
	}},
	{"is deleted, and deleting it again is no error", func(b *bench) {
		name := b.topic(1)
		b.must(b.Broker.DeleteTopic(b.ctx, name))
		b.eventually("the topic is gone", func() bool {
			_, err := b.Broker.Topic(b.ctx, name)
			return errors.Is(err, broker.ErrNoTopic)
		})
		b.must(b.Broker.DeleteTopic(b.ctx, name))
	}},
	{"that was created again has another id", func(b *bench) {
		name := b.topic(1)
		first := b.describe(name).ID
		b.recreate(name, 1)
		if b.describe(name).ID == first {
			b.Fatal("the new topic has the id of the old one")
		}
	}},
	{"that grows is seen to have grown", func(b *bench) {
		name := b.topic(1)
		b.Grow(b, name, 4)
		b.eventually("the topic has 4 partitions", func() bool { return b.describe(name).Partitions == 4 })
	}},
}

var offsetTests = []namedTest{
	{"of an empty topic are zero", func(b *bench) {
		b.equal("offsets", b.offsets(b.topic(2)), map[int32]broker.Offsets{0: {}, 1: {}})
	}},
	{"count the records", func(b *bench) {
		name := b.topic(2)
		b.fill(name, 1, numbers(5)...)
		b.equal("offsets", b.offsets(name), map[int32]broker.Offsets{0: {}, 1: {Start: 0, Stable: 5, End: 5}})
	}},
	{"are stable up to an open transaction", func(b *bench) {
		name := b.topic(1)
		b.fill(name, 0, "a")
		txn := b.Begin(b)
		txn.Produce(b, name, 0, valued([]string{"b", "c"})...)
		b.equal("open", b.offsets(name)[0], broker.Offsets{Start: 0, Stable: 1, End: 3})
		txn.Commit(b)
		b.eventually("the marker is in the log", func() bool {
			return b.offsets(name)[0] == broker.Offsets{Start: 0, Stable: 4, End: 4}
		})
	}},
	{"are found by time", func(b *bench) {
		name := b.topic(2)
		begin := time.UnixMilli(1_700_000_000_000)
		for i := range 3 {
			b.Produce(b, name, 0, broker.Record{Timestamp: begin.Add(time.Duration(i) * time.Second).UnixMilli(), Value: []byte("x")})
		}
		for _, c := range []struct {
			after time.Duration
			want  runtime.Offset
		}{{-time.Hour, 0}, {0, 0}, {time.Second, 1}, {1500 * time.Millisecond, 2}, {time.Hour, 3}} {
			got, err := b.Broker.OffsetsAt(b.ctx, name, begin.Add(c.after))
			b.must(err)
			b.equal(c.after.String(), got, map[int32]runtime.Offset{0: c.want, 1: 0})
		}
	}},
	{"start where the log was trimmed", func(b *bench) {
		name := b.topic(2)
		b.fill(name, 0, numbers(10)...)
		b.must(b.Broker.Trim(b.ctx, name, map[int32]runtime.Offset{0: 7, 1: 99}))
		b.equal("offsets", b.offsets(name), map[int32]broker.Offsets{0: {Start: 7, Stable: 10, End: 10}, 1: {}})
		b.must(b.Broker.Trim(b.ctx, name, map[int32]runtime.Offset{0: 3}))
		b.equal("start after a lower trim", b.offsets(name)[0].Start, 7)
	}},
}

var exchangeTests = []namedTest{
	{"is created and can be used at once", func(b *bench) {
		x := b.exchange(4)
		topic, err := b.Broker.EnsureExchange(b.ctx, x)
		b.must(err)
		b.equal("partitions", topic.Partitions, 4)
		b.equal("offsets", len(b.offsets(x.Topic)), 4)
		again, err := b.Broker.EnsureExchange(b.ctx, x)
		b.must(err)
		b.equal("the topic the second time", again, topic)
	}},
	{"with another number of buckets is refused", func(b *bench) {
		x := b.exchange(4)
		_, err := b.Broker.EnsureExchange(b.ctx, x)
		b.must(err)
		x.Buckets = 8
		_, err = b.Broker.EnsureExchange(b.ctx, x)
		b.isError(err, broker.ErrSettings)
	}},
	{"in a topic that was made for something else is refused", func(b *bench) {
		_, err := b.Broker.EnsureExchange(b.ctx, broker.Exchange{Topic: b.topic(2), Buckets: 2})
		b.isError(err, broker.ErrSettings)
	}},
	{"that could not take the largest block is refused", func(b *bench) {
		x := b.exchange(1)
		x.MaxMessageBytes = 1 << 20
		_, err := b.Broker.EnsureExchange(b.ctx, x)
		b.must(err)
		x.MaxMessageBytes = 2 << 20
		_, err = b.Broker.EnsureExchange(b.ctx, x)
		b.isError(err, broker.ErrSettings)
	}},
}

func (b *bench) exchange(buckets int) broker.Exchange {
	x := broker.Exchange{Topic: b.name(), Buckets: buckets}
	b.Cleanup(func() { _ = b.Broker.DeleteTopic(b.ctx, x.Topic) })
	return x
}

func (b *bench) recreate(name string, partitions int) {
	b.Helper()
	b.must(b.Broker.DeleteTopic(b.ctx, name))
	b.eventually("the topic is gone", func() bool {
		_, err := b.Broker.Topic(b.ctx, name)
		return errors.Is(err, broker.ErrNoTopic)
	})
	b.Create(b, name, partitions)
}

func (b *bench) isError(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Fatalf("got error %v, want %v", err, want)
	}
}

// eventually asks again until it is so: brokers tell each other what happened, which takes a moment.
func (b *bench) eventually(what string, so func() bool) {
	b.Helper()
	for !so() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-b.ctx.Done():
			b.Fatalf("never came true: %s", what)
		}
	}
}
