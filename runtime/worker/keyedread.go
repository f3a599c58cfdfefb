package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
)

// Decisions are asked for this often while blocks are held, growing from the first to the second.
const (
	pollFirst = 2 * time.Millisecond
	pollLast  = 20 * time.Millisecond
)

// polls is the state of asking for decisions.
type polls struct {
	running bool
	next    time.Time
	every   time.Duration
	// asked is, by bucket, how far it had read when the running poll began.
	asked map[int32]runtime.Offset
}

// readMore reads the exchange until something arrives or it is time to look at the clocks.
func (k *keyed) readMore(ctx context.Context, now time.Time) error {
	wait, cancel := k.until(ctx, k.nextLook(now))
	defer cancel()
	if k.bytes() >= 2*k.HighBytes { // far above the mark at which feeders are held: read no more
		<-wait.Done()
		return nil
	}
	f, err := k.reader.Poll(wait)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return k.recover(ctx, fmt.Errorf("reading %s: %w", k.g.topic.Name, err))
	}
	defer f.Release()
	for _, e := range f.Errors {
		if err := k.readError(ctx, e); err != nil || !e.Passing {
			return err
		}
	}
	now = time.Now()
	for i := range f.Chunks {
		if err := k.arrive(&f.Chunks[i], now); err != nil {
			return err
		}
	}
	return nil
}

// nextLook is when the loop has something to do even if nothing arrives.
func (k *keyed) nextLook(now time.Time) time.Time {
	at := now.Add(maxWait)
	if k.hasPending() && !k.polls.running && k.polls.next.Before(at) {
		at = k.polls.next
	}
	if due, ok := k.dueAt(); ok && k.flight == nil && due.Before(at) {
		at = due
	}
	return at
}

// arrive hands the blocks of a chunk to their bucket.
func (k *keyed) arrive(c *broker.Chunk, now time.Time) error {
	b := k.buckets[c.Partition]
	if b == nil {
		return nil
	}
	for i := range c.Records {
		r := &c.Records[i]
		if r.Offset < b.recv.Read {
			continue
		}
		h, _, err := exchange.ParseBlock(r.Value)
		if err != nil {
			return &SignatureError{b.recv.Input, r.Offset, err.Error()}
		}
		if h.Signature != k.op.Signature {
			return &SignatureError{b.recv.Input, r.Offset, fmt.Sprintf("the block was made for another version of %s (signature %016x, ours is %016x)", k.op.Operator, h.Signature, k.op.Signature)}
		}
		k.vit.Records.Add(1)
		k.vit.Bytes.Add(int64(len(r.Value)))
		k.decisions.Arrived(h.Writer)
		was := len(b.recv.Pending())
		b.recv.Arrive(protocol.Block{Offset: r.Offset, Writer: h.Writer, Seq: h.Seq, Prev: h.Prev})
		if p := b.recv.Pending(); len(p) > was {
			p[len(p)-1].Body = clone(r.Value) // the fetch's memory goes away
			b.held += len(r.Value)
		}
		if b.since.IsZero() {
			b.since = now
		}
		crash.Point("keyed-read")
	}
	b.recv.Skip(c.Next)
	if b.since.IsZero() && b.recv.Moved() {
		b.since = now
	}
	return nil
}

func (k *keyed) readError(ctx context.Context, e broker.PartitionError) error {
	var out *broker.OutOfRangeError
	switch {
	case e.Passing:
		k.log.Warn("a bucket cannot be read now; trying on", "bucket", e.Partition, "error", e.Err)
		return nil
	case errors.As(e.Err, &out):
		return k.outOfRange(ctx, out)
	}
	return k.recover(ctx, fmt.Errorf("reading %s[%d]: %w", k.g.topic.Name, e.Partition, e.Err))
}

// outOfRange reads the row again first (▲ Receiving 8): a slow owner may look where others have
// trimmed. An exchange is never reset: blocks that sources count as done would be gone.
func (k *keyed) outOfRange(ctx context.Context, out *broker.OutOfRangeError) error {
	if err := k.restart(ctx); err != nil {
		return err
	}
	b := k.buckets[out.Partition]
	if b == nil || b.recv.Resume >= out.Offsets.Start && b.recv.Resume <= out.Offsets.End {
		return nil
	}
	return fmt.Errorf("%s stopped: its resume offset is %d, %w; blocks that their sources count as done are gone: "+
		"restore the exchange topic, or purge the topology and rebuild its state from the source",
		b.recv.Input, b.recv.Resume, errors.Join(errExchangeLost, out))
}

var errExchangeLost = errors.New("which the exchange no longer holds")

func (k *keyed) hasPending() bool {
	for _, b := range k.order {
		if len(b.recv.Pending()) > 0 {
			return true
		}
	}
	return false
}

// pollDue asks for one snapshot of all writers concerned (▲ Receiving 3), while blocks are held.
func (k *keyed) pollDue(ctx context.Context, now time.Time) {
	if k.polls.running || !k.hasPending() || now.Before(k.polls.next) {
		return
	}
	k.polls.running = true
	k.polls.asked = make(map[int32]runtime.Offset, len(k.order))
	receivers := make([]*protocol.Receiver, len(k.order))
	for i, b := range k.order {
		receivers[i] = &b.recv
		k.polls.asked[b.recv.Input.Partition] = b.recv.Read
	}
	ids := k.decisions.Wanted(receivers)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		view, err := k.Store.View(ctx, ids)
		k.events <- keyedEvent{kind: polled, view: view, err: err}
		k.wake()
	}()
}

// decided takes a snapshot in.
func (k *keyed) decided(ctx context.Context, e keyedEvent) error {
	k.polls.running = false
	if k.polls.asked == nil { // begun before a restart
		return nil
	}
	if e.err != nil {
		if terminal(e.err) {
			return fmt.Errorf("reading decisions for %s: %w", k.op.Operator, e.err)
		}
		k.polls.next = time.Now().Add(pollLast)
		return nil
	}
	before := k.pending()
	k.decisions.Adopt(e.view)
	crash.Point("keyed-decided")
	if err := k.settle(ctx, true); err != nil {
		return err
	}
	if k.pending() < before || k.polls.every == 0 {
		k.polls.every = pollFirst
	} else {
		k.polls.every = min(k.polls.every*3/2, pollLast)
	}
	k.polls.next = time.Now().Add(k.polls.every)
	return nil
}

func (k *keyed) pending() int {
	n := 0
	for _, b := range k.order {
		n += len(b.recv.Pending())
	}
	return n
}

// bytes is the backlog in memory: undecided blocks and what was merged but not committed.
func (k *keyed) bytes() int {
	n := 0
	for _, b := range k.order {
		n += b.held + b.dirty.Bytes() + b.spare.Bytes()
	}
	return n
}

// feedback closes the gate of the operator while this instance has too much, and opens it when it has
// clearly less: half of the bytes, nine tenths of the age. What is undecided does not count as old: it
// waits for its writer, not for us.
func (k *keyed) feedback(now time.Time) {
	n := k.bytes()
	k.vit.PendingBytes.Store(int64(n))
	oldest, merged := now, now
	for _, b := range k.order {
		oldest, merged = earlier(oldest, b.since), earlier(merged, b.merged)
	}
	if f := k.flight; f != nil {
		oldest, merged = earlier(oldest, f.oldest), earlier(merged, f.merged)
	}
	k.vit.OldestNanos.Store(0)
	if oldest.Before(now) {
		k.vit.OldestNanos.Store(oldest.UnixNano())
	}
	age := now.Sub(merged)
	full := n >= k.HighBytes || age >= k.HighAge
	if k.full {
		full = n >= k.HighBytes/2 || age >= k.HighAge*9/10
	}
	k.gate.set(full, k.full)
	k.full = full
}

// earlier returns the earlier of two times; a zero one does not count.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// beginDrain lists where the exchange ends now that every feeder has stopped.
func (k *keyed) beginDrain(ctx context.Context) error {
	offsets, err := retry(ctx, k.log, "listing the ends of the exchange", func(ctx context.Context) (map[int32]broker.Offsets, error) {
		o, err := k.Broker.Offsets(ctx, k.g.topic.Name)
		if err == nil && len(o) < k.op.Buckets {
			err = errors.New("some bucket has no leader")
		}
		return o, err
	})
	if err != nil || ctx.Err() != nil {
		return err
	}
	k.draining = map[int32]runtime.Offset{}
	for p, o := range offsets {
		if o.End > o.Start {
			k.draining[p] = o.End
		}
	}
	return nil
}

// drained tells whether everything up to the ends is committed.
func (k *keyed) drained() bool {
	if k.draining == nil || k.flight != nil {
		return false
	}
	for p, b := range k.buckets {
		if b.recv.Read < k.draining[p] || b.recv.Moved() || len(b.recv.Pending()) > 0 {
			return false
		}
	}
	return true
}
