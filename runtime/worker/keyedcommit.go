package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/mutant"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

// keyedFlight is a commit under way: whole buckets, frozen. Only one goroutine works on it at a time.
type keyedFlight struct {
	buckets  []*bucket
	moves    []protocol.Move
	writes   store.Writes
	protocol *protocol.Flight
	oldest   time.Time // when the oldest of its blocks was read
	merged   time.Time // when the first of them was merged
	begun    time.Time
	rows     int64
	buried   bool // entries were refused, so the caches hold rows that the store does not
	ingest   int64
}

type keyedEventKind uint8

const (
	polled keyedEventKind = iota
	computed
	produced
	committed
)

// keyedEvent is what a helper reports to the loop.
type keyedEvent struct {
	kind   keyedEventKind
	view   protocol.View
	flight *keyedFlight
	result protocol.Result
	err    error
}

// dueAt is when the next commit is due. What fits into one transaction is committed as soon as the
// freshness target says so; a larger backlog goes bucket by bucket, each when it has gathered for
// CommitTime, so that commits are dense.
func (k *keyed) dueAt() (time.Time, bool) {
	rows := 0
	var oldest time.Time
	for _, b := range k.order {
		if !b.recv.Moved() {
			continue
		}
		rows += b.dirty.Len()
		if oldest.IsZero() || b.since.Before(oldest) {
			oldest = b.since
		}
	}
	switch {
	case held(k.g.gates) && k.draining == nil: // between batches, never between produce and commit
		return time.Time{}, false
	case oldest.IsZero():
		return k.idleAt()
	case rows > k.CommitRows && k.draining == nil:
		return oldest.Add(k.CommitTime), true
	}
	return oldest.Add(k.Freshness), true
}

// idleAt is when the bucket that was committed longest ago has to be committed again (▲ idle owners
// commit now and then, so that they notice a lost epoch, or a database that went back).
func (k *keyed) idleAt() (time.Time, bool) {
	if len(k.order) == 0 || k.draining != nil || mutant.On("idleSilent") {
		return time.Time{}, false
	}
	first := k.order[0].committed
	for _, b := range k.order {
		if b.committed.Before(first) {
			first = b.committed
		}
	}
	return first.Add(k.Lease), true
}

// commitDue freezes whole buckets, oldest first, while they have fewer rows than a transaction
// should, and starts their commit.
func (k *keyed) commitDue(ctx context.Context, now time.Time) error {
	for _, b := range k.order {
		if b.since.IsZero() && b.recv.Moved() {
			b.since = now
		}
	}
	due, ok := k.dueAt()
	if !ok || now.Before(due) && k.draining == nil {
		return nil
	}
	chosen := k.choose(now)
	if len(chosen) == 0 {
		return nil
	}
	if k.prod.Emits && k.prod.Writer().IsZero() {
		id, err := k.openWriter(ctx, string(k.op.Operator))
		if err != nil {
			return k.recover(ctx, err)
		}
		k.prod.Opened(id, k.out.size)
	}
	k.freeze(ctx, chosen, now)
	return nil
}

// choose takes the buckets that moved, oldest first, up to the bounds of a transaction, and those that
// were idle for a lease.
func (k *keyed) choose(now time.Time) []*bucket {
	var moved, chosen []*bucket
	for _, b := range k.order {
		switch {
		case b.recv.Moved():
			moved = append(moved, b)
		case now.Sub(b.committed) >= k.Lease:
			chosen = append(chosen, b)
		}
	}
	slices.SortFunc(moved, func(a, b *bucket) int { return a.since.Compare(b.since) })
	rows, bytes := 0, 0
	for i, b := range moved {
		rows, bytes = rows+b.dirty.Len(), bytes+b.dirty.Bytes()
		if i > 0 && (rows > k.CommitRows || k.out != nil && bytes > k.emitBytes) {
			break
		}
		chosen = append(chosen, b)
	}
	return chosen
}

// freeze swaps the tables of the buckets and starts what a commit needs before it.
func (k *keyed) freeze(ctx context.Context, chosen []*bucket, now time.Time) {
	slices.SortFunc(chosen, func(a, b *bucket) int { return a.recv.Input.Compare(b.recv.Input) })
	f := &keyedFlight{buckets: chosen, begun: now, oldest: now, merged: now}
	for _, b := range chosen {
		m := b.recv.Freeze()
		f.moves = append(f.moves, m)
		b.dirty, b.spare = b.spare, b.dirty
		f.rows += int64(b.spare.Len())
		for _, d := range b.dead {
			d.TxID = m.TxID
			f.writes.DeadLetters = append(f.writes.DeadLetters, d)
		}
		if !b.since.IsZero() && b.since.Before(f.oldest) {
			f.oldest = b.since
		}
		if f.ingest == 0 || b.ingest != 0 && b.ingest < f.ingest {
			f.ingest = b.ingest
		}
		if !b.merged.IsZero() && b.merged.Before(f.merged) {
			f.merged = b.merged
		}
		b.dead, b.since, b.merged, b.ingest, b.committed = nil, time.Time{}, time.Time{}, 0, now
		if len(b.recv.Pending()) > 0 {
			b.since = now
		}
	}
	k.flight = f
	crash.Point("keyed-frozen")
	go func() {
		err := k.compute(ctx, f)
		k.events <- keyedEvent{kind: computed, flight: f, err: err}
		k.wake()
	}()
}

// compute turns what was merged into writes, and into blocks for the stages behind.
func (k *keyed) compute(ctx context.Context, f *keyedFlight) error {
	if k.out != nil {
		k.out.reset()
	}
	for i, b := range f.buckets {
		if b.spare.Len() == 0 {
			continue
		}
		if err := writeBucket(ctx, bucketCommit{k.op, b.recv.Input.Partition, f.moves[i].TxID, b.rows, k.emit, k.refused}, b.spare, &f.writes); err != nil {
			return err
		}
	}
	return nil
}

func (k *keyed) handleEvents(ctx context.Context) error {
	for {
		select {
		case e := <-k.events:
			if err := k.handle(ctx, e); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (k *keyed) handle(ctx context.Context, e keyedEvent) error {
	if ctx.Err() != nil {
		if e.kind == polled {
			k.polls.running = false
		} else {
			k.flight = nil
		}
		return nil
	}
	if e.kind == polled {
		return k.decided(ctx, e)
	}
	if e.err != nil {
		return k.failed(ctx, e)
	}
	f := e.flight
	switch e.kind {
	case computed:
		var outs []int
		if k.out != nil {
			outs = k.out.nonEmpty()
		}
		f.protocol = k.prod.BeginMoves(f.moves, outs)
		go func() {
			err := k.produce(ctx, f)
			k.events <- keyedEvent{kind: produced, flight: f, err: err}
			k.wake()
		}()
	case produced:
		for _, st := range f.protocol.Stamps {
			k.prod.Acked(f.protocol, st.Out)
		}
		if k.prod.Oldest() == f.protocol {
			k.commitFlight(ctx, f)
		}
	case committed:
		k.done(f, e.result)
	}
	return nil
}

// produce sends the blocks of the stages behind and waits for every acknowledgement.
func (k *keyed) produce(ctx context.Context, f *keyedFlight) error {
	if k.out == nil {
		return nil
	}
	crash.Point("keyed-computed")
	err := k.out.produce(ctx, k.worker, k.appender, f.protocol.Stamps, f.ingest, k.vit)
	if err == nil {
		crash.Point("keyed-produced")
	}
	return err
}

func (k *keyed) commitFlight(ctx context.Context, f *keyedFlight) {
	go func() {
		crash.Point("keyed-committing")
		var res protocol.Result
		var err error
		if k.out != nil {
			res, err = k.commitEmitting(ctx, f.protocol.Commit, f.writes)
		} else {
			res, err = k.commitOrBury(ctx, f.protocol.Commit, f.writes, func() { f.buried = true })
		}
		if err == nil {
			crash.Point("keyed-committed")
			if k.out != nil {
				k.wakeBehind(k.out.operators())
			}
		}
		k.events <- keyedEvent{kind: committed, flight: f, result: res, err: err}
		k.wake()
	}()
}

// done takes note of a commit.
func (k *keyed) done(f *keyedFlight, res protocol.Result) {
	k.prod.Committed()
	k.flight, k.patience = nil, patience{}
	for i, b := range f.buckets {
		b.recv.Committed(res.Gone)
		b.spare.Reset()
		keep(b.rows, f.moves[i].TxID, f.buried)
		delete(k.gapAt, b.recv.Input.Partition)
	}
	k.decisions.Pruned(res.Gone)
	clear(k.refused)
	k.vit.Batches.Add(1)
	k.vit.Rows.Add(f.rows)
	k.vit.DeadLetters.Add(int64(len(f.writes.DeadLetters)))
	k.vit.CommitNanos.Add(int64(time.Since(f.begun)))
}

// failed answers a commit that did not happen, or may still: see source.failed.
func (k *keyed) failed(ctx context.Context, e keyedEvent) error {
	k.flight = nil
	var refused *refusedError
	switch {
	case errors.As(e.err, &refused):
		for _, r := range refused.refused {
			k.refused[entryName(k.op.Operator, r.Bucket, r.Key)] = r.Reason
		}
	case errors.Is(e.err, protocol.ErrUnknown):
		k.prod.Lost()
		crash.Point("keyed-unknown")
	case errors.Is(e.err, exchange.ErrBatchFull):
		k.emitBytes = max(k.emitBytes/2, 4<<10)
	}
	return k.recover(ctx, e.err)
}

// awaitFlight waits for the helper of a commit in flight; what it did, the rows say.
func (k *keyed) awaitFlight() {
	for k.flight != nil || k.polls.running {
		e := <-k.events
		if e.kind == polled {
			k.polls.running = false
			continue
		}
		if errors.Is(e.err, protocol.ErrUnknown) {
			k.prod.Lost()
		}
		k.flight = nil
	}
}
