package brokertest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

var appenderTests = []namedTest{
	{"stores blocks in order, and says so once each", func(b *bench) {
		const buckets, blocks = 3, 50
		name := b.topic(buckets)
		a := b.appender(broker.AppenderConfig{})
		var acks sync.WaitGroup
		var calls atomic.Int64
		until := make(map[int32]runtime.Offset)
		want := make(map[int32][]string)
		for i := range blocks {
			for p := range int32(buckets) {
				value := fmt.Sprintf("%d/%d", p, i)
				acks.Add(1)
				a.Append(b.ctx, name, p, []byte(value), func(err error) {
					calls.Add(1)
					if err != nil {
						b.Error(err)
					}
					acks.Done()
				})
				want[p] = append(want[p], value)
				until[p] = blocks
			}
		}
		acks.Wait()
		b.equal("calls of done", calls.Load(), buckets*blocks)
		r := b.reader(broker.ReaderConfig{Topic: name})
		for p := range until {
			r.Seek(p, 0)
		}
		for p, l := range b.readUntil(r, nil, until) {
			b.equal("values", l.values, want[p])
		}
	}},
	{"refuses a block that is too large", func(b *bench) {
		a := b.appender(broker.AppenderConfig{MaxMessageBytes: 10_000})
		name := b.topic(1)
		b.isError(b.append(a, name, 0, make([]byte, 20_000)), broker.ErrFull)
		b.must(b.append(a, name, 0, make([]byte, 9_000)))
	}},
	{"stores a block of 4 MiB in an exchange", func(b *bench) {
		x := b.exchange(1)
		_, err := b.Broker.EnsureExchange(b.ctx, x)
		b.must(err)
		a := b.appender(broker.AppenderConfig{})
		b.must(b.append(a, x.Topic, 0, make([]byte, 4<<20)))
		r := b.reader(broker.ReaderConfig{Topic: x.Topic})
		r.Seek(0, 0)
		b.equal("size", len(b.readUntil(r, nil, at(1))[0].values[0]), 4<<20)
	}},
	{"names a topic that is missing", func(b *bench) {
		b.isError(b.append(b.appender(broker.AppenderConfig{}), b.name(), 0, []byte("x")), broker.ErrNoTopic)
	}},
	{"refuses a partition that is missing", func(b *bench) {
		a := b.appender(broker.AppenderConfig{})
		name := b.topic(1)
		if err := b.append(a, name, 5, []byte("x")); err == nil {
			b.Fatal("a block for partition 5 of a topic with one partition was stored")
		}
		b.must(b.append(a, name, 0, []byte("x")))
	}},
	{"refuses blocks once it is closed", func(b *bench) {
		a, err := b.Broker.NewAppender(broker.AppenderConfig{})
		b.must(err)
		name := b.topic(1)
		b.must(b.append(a, name, 0, []byte("x")))
		a.Close()
		if err := b.append(a, name, 0, []byte("x")); err == nil {
			b.Fatal("a closed appender stored a block")
		}
	}},
}

func (b *bench) appender(cfg broker.AppenderConfig) broker.Appender {
	b.Helper()
	a, err := b.Broker.NewAppender(cfg)
	b.must(err)
	b.Cleanup(a.Close)
	return a
}

// append appends and waits for what came of it.
func (b *bench) append(a broker.Appender, topic string, partition int32, value []byte) error {
	b.Helper()
	done := make(chan error, 1)
	a.Append(b.ctx, topic, partition, value, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-b.ctx.Done():
		b.Fatal("done was never called")
		return nil
	}
}
