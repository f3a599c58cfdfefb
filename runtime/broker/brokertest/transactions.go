package brokertest

import (
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

var transactionTests = []namedTest{
	{"that are open or aborted are hidden, and the position reaches the last stable offset", func(b *bench) {
		name := b.topic(1)
		b.fill(name, 0, "plain") // 0
		committed := b.Begin(b)
		committed.Produce(b, name, 0, valued([]string{"c1", "c2"})...) // 1, 2, marker 3
		committed.Commit(b)
		b.awaitEnd(name, 4)
		aborted := b.Begin(b)
		aborted.Produce(b, name, 0, valued([]string{"a1", "a2"})...) // 4, 5, marker 6
		aborted.Abort(b)
		b.awaitEnd(name, 7)
		open := b.Begin(b)
		open.Produce(b, name, 0, valued([]string{"o1"})...) // 7
		b.fill(name, 0, "behind")                           // 8

		r := b.reader(broker.ReaderConfig{Topic: name, ReadCommitted: true, MaxWait: 20 * time.Millisecond})
		r.Seek(0, 0)
		l := b.readUntil(r, nil, at(7))[0]
		b.equal("values", l.values, []string{"plain", "c1", "c2"})
		b.equal("position", l.next, 7)
		open.Commit(b)
		l = b.readUntil(r, at(7), at(10))[0]
		b.equal("values after the commit", l.values, []string{"o1", "behind"})
	}},
	{"are all read by who asks for uncommitted records", func(b *bench) {
		name := b.topic(1)
		aborted := b.Begin(b)
		aborted.Produce(b, name, 0, valued([]string{"a"})...)
		aborted.Abort(b)
		b.awaitEnd(name, 2)
		open := b.Begin(b)
		open.Produce(b, name, 0, valued([]string{"o"})...)
		defer open.Abort(b)
		r := b.reader(broker.ReaderConfig{Topic: name})
		r.Seek(0, 0)
		b.equal("values", b.readUntil(r, nil, at(3))[0].values, []string{"a", "o"})
	}},
	{"that leave nothing but a marker move the position", func(b *bench) {
		name := b.topic(2)
		txn := b.Begin(b)
		txn.Produce(b, name, 0, valued(numbers(3))...)
		txn.Produce(b, name, 1, valued(numbers(5))...)
		txn.Abort(b)
		b.eventually("both markers are there", func() bool {
			o := b.offsets(name)
			return o[0].Stable == 4 && o[1].Stable == 6
		})
		r := b.reader(broker.ReaderConfig{Topic: name, ReadCommitted: true})
		r.Seek(0, 0)
		r.Seek(1, 2)
		logs := b.readUntil(r, map[int32]runtime.Offset{1: 2}, map[int32]runtime.Offset{0: 4, 1: 6})
		b.equal("values", [][]string{logs[0].values, logs[1].values}, [][]string{nil, nil})
	}},
	{"that were aborted behind an open one do not hold the position below it", func(b *bench) {
		name := b.topic(1)
		early := b.Begin(b)
		early.Produce(b, name, 0, valued([]string{"a"})...) // 0
		open := b.Begin(b)
		open.Produce(b, name, 0, valued([]string{"o"})...) // 1
		early.Abort(b)                                     // marker 2
		b.eventually("the stable offset is at the open transaction", func() bool { return b.offsets(name)[0].Stable == 1 })
		r := b.reader(broker.ReaderConfig{Topic: name, ReadCommitted: true, MaxWait: 20 * time.Millisecond})
		r.Seek(0, 0)
		b.equal("values", len(b.readUntil(r, nil, at(1))[0].values), 0)
		open.Commit(b) // marker 3
		b.equal("values", b.readUntil(r, at(1), at(4))[0].values, []string{"o"})
	}},
}

// awaitEnd waits until the markers are in the log: a transaction ends a moment before they are.
func (b *bench) awaitEnd(topic string, end runtime.Offset) {
	b.Helper()
	b.eventually("the marker is in the log", func() bool { return b.offsets(topic)[0].End == end })
}
