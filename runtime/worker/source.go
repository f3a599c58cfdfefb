package worker

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/mutant"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/vitals"
)

// source is an instance of a spout stage. One loop owns everything below; a batch in flight is
// produced and committed by helpers that report through events.
type source struct {
	*worker
	g     *group
	index int
	log   *slog.Logger
	vit   *vitals.Instance
	waker

	em       protocol.Emitter
	reader   broker.Reader
	appender broker.Appender // nil if no edge is an exchange

	cur, spare *gather
	caches     map[int]map[int32]*rowCache // by edge and partition
	flight     *flight
	events     chan event
	rows       map[int32]protocol.Progress // as last loaded
	replays    map[int32][]protocol.Descriptor
	describing []runtime.Input // whose descriptors may still be written by a request that was lost
	behind     map[int32]int64
	poison     map[record]error
	cutBefore  map[record]bool
	rest       *rest // what of the last fetch did not fit into the batch
	// committedAt is, by partition, when it was last part of a batch.
	committedAt map[int32]time.Time
	reloads     atomic.Bool
	patience    patience
}

// record names one source record.
type record struct {
	partition int32
	offset    runtime.Offset
}

func (w *worker) newSource(g *group, index int) (*source, error) {
	s := &source{
		worker: w, g: g, index: index,
		log:    w.Log.With("operator", g.stage.Operator, "instance", index),
		vit:    w.Vitals.Add(g.stage.Operator, index),
		waker:  newWaker(),
		events: make(chan event, 2),
		poison: map[record]error{}, cutBefore: map[record]bool{}, committedAt: map[int32]time.Time{},
	}
	var err error
	for _, into := range []**gather{&s.cur, &s.spare} {
		if *into, err = newGather(g.stage, g.topic.Partitions); err != nil {
			return nil, err
		}
	}
	s.em = protocol.NewEmitter(w.self.Incarnation, emits(g.stage))
	s.reader, err = w.Broker.NewReader(broker.ReaderConfig{Topic: g.topic.Name, TopicID: g.topic.ID, ReadCommitted: g.stage.Spout.ReadCommitted})
	if err != nil {
		return nil, fmt.Errorf("opening a reader of %s: %w", g.topic.Name, err)
	}
	if s.em.Emits {
		if s.appender, err = w.Broker.NewAppender(broker.AppenderConfig{}); err != nil {
			s.close()
			return nil, fmt.Errorf("opening a producer: %w", err)
		}
	}
	return s, nil
}

func (s *source) close() {
	s.dropRest()
	s.reader.Close()
	if s.appender != nil {
		s.appender.Close()
	}
}

func (s *source) reload() {
	s.reloads.Store(true)
	s.wake()
}

// run is the loop: handle what came back, cut a batch when it is due, gather more.
func (s *source) run(ctx context.Context, drain <-chan struct{}) error {
	if err := s.load(ctx); err != nil {
		return err
	}
	defer s.wakeOn(drain)()
	defer s.awaitFlight()
	for {
		if err := s.handleEvents(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		draining := isClosed(drain)
		if s.reloads.Load() && s.flight == nil {
			if err := s.adoptNew(ctx); err != nil {
				return err
			}
		}
		if s.flight == nil && (s.due(time.Now()) || draining && s.cur.moved && len(s.replays) == 0) {
			if err := s.cut(ctx); err != nil {
				return err
			}
		}
		if draining && s.flight == nil {
			return s.finish(ctx)
		}
		s.noteOldest()
		if err := s.gatherMore(ctx, draining); err != nil {
			return err
		}
	}
}

// noteOldest tells the vitals since when the oldest record waits for its commit.
func (s *source) noteOldest() {
	switch {
	case s.flight != nil && s.flight.batch.moved:
		s.vit.OldestNanos.Store(s.flight.batch.oldest.UnixNano())
	case s.cur.moved:
		s.vit.OldestNanos.Store(s.cur.oldest.UnixNano())
	default:
		s.vit.OldestNanos.Store(0)
	}
}

// due tells whether the batch should be cut now (DESIGN: Batches and txids).
func (s *source) due(now time.Time) bool {
	at, ok := s.dueAt(now)
	return ok && !now.Before(at)
}

// dueAt is when the batch should be cut if nothing more comes.
func (s *source) dueAt(now time.Time) (time.Time, bool) {
	g := s.cur
	switch {
	case len(s.replays) > 0: // a replay ends where it ended the first time, not when it suits
		return now, s.replayed()
	case !g.moved:
		return s.idleAt(now)
	case s.curFull(), held(s.g.gates): // held between batches: what is gathered goes on, nothing more is
		return now, true
	case s.backlog():
		return g.oldest.Add(s.BatchTime), true
	}
	return g.oldest.Add(s.Freshness), true
}

func (s *source) curFull() bool {
	return len(s.replays) == 0 && (s.cur.full(s.BatchBytes, 2*s.CommitRows) || s.rest != nil && s.rest.blocked)
}

// backlog tells whether more waits in the topic than the batch holds.
func (s *source) backlog() bool {
	var n int64
	for _, b := range s.behind {
		n += b
	}
	s.vit.Behind.Store(n)
	return n > max(2000, s.cur.records)
}

// cut ends the batch, swaps the gathers and starts its flight.
func (s *source) cut(ctx context.Context) error {
	if s.em.Emits && s.em.Writer().IsZero() {
		id, err := s.openWriter(ctx, string(s.g.stage.Operator))
		if err != nil {
			return s.recover(ctx, err)
		}
		s.em.Opened(id, s.cur.out.size)
		crash.Point("writer-opened")
	}
	b := s.cur
	if err := s.replayedWhole(b); err != nil {
		return err
	}
	s.vit.Tuples.Add(b.tuples())
	cuts := s.cuts(b, time.Now())
	if len(cuts) == 0 {
		return nil
	}
	f := s.em.Begin(cuts, b.out.nonEmpty())
	s.cur, s.spare = s.spare, nil
	s.openSpans()
	if s.rest != nil {
		s.rest.blocked = false
	}
	s.flight = &flight{protocol: f, batch: b, descriptors: s.describe(b, f)}
	crash.Point("source-gathered")
	s.launch(ctx, s.flight)
	return nil
}

// cuts lists what the batch moves, and every partition that was not committed for a lease (▲ idle owners
// commit now and then).
func (s *source) cuts(b *gather, now time.Time) []protocol.Cut {
	var cuts []protocol.Cut
	for _, o := range s.em.Owned() {
		p := o.Input.Partition
		sp := b.spans[p]
		if len(s.replays[p]) > 0 && p != s.replayedPartition() { // its next txid belongs to its descriptor
			continue
		}
		if sp == nil || sp.to == sp.from && !sp.jumped && now.Sub(s.committedAt[p]) < s.Lease {
			continue
		}
		s.committedAt[p] = now
		epoch := max(sp.leaderEpoch, s.rows[p].LeaderEpoch)
		cuts = append(cuts, protocol.Cut{Input: o.Input, Position: sp.to, TopicID: s.g.topic.ID, LeaderEpoch: epoch})
	}
	return cuts
}

// idleAt is when the partition that was committed longest ago has to be committed again.
func (s *source) idleAt(now time.Time) (time.Time, bool) {
	first, some := now, false
	if mutant.On("idleSilent") {
		return first, false
	}
	for _, o := range s.em.Owned() {
		at, known := s.committedAt[o.Input.Partition]
		if !known {
			s.committedAt[o.Input.Partition] = now
			at = now
		}
		if at.Before(first) {
			first = at
		}
		some = true
	}
	return first.Add(s.Lease), some
}

// openSpans starts the next batch where the one before ended.
func (s *source) openSpans() {
	for _, o := range s.em.Owned() {
		s.cur.begin(o.Input.Partition, o.Position)
	}
}

// finish ends the instance: the writer is closed, so that receivers need not wait for it.
func (s *source) finish(ctx context.Context) error {
	if id := s.em.Writer(); !id.IsZero() {
		if err := s.closeWriter(ctx, id); err != nil {
			s.log.Warn("the writer could not be closed; leaving the topology closes it", "error", err)
		}
	}
	return nil
}

// recover answers an error: terminal ones stop the instance, others are waited out.
func (s *source) recover(ctx context.Context, err error) error {
	if err := s.patience.wait(ctx, s.log, s.g.stage.Operator, err); err != nil || ctx.Err() != nil {
		return err
	}
	return s.restart(ctx)
}

// waker interrupts a wait of the loop it belongs to.
type waker struct{ state *wakeState }

type wakeState struct {
	mu     sync.Mutex
	cancel context.CancelFunc
	rung   bool
}

func newWaker() waker { return waker{new(wakeState)} }

// wake makes the current or the next wait end at once.
func (w waker) wake() {
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	w.state.rung = true
	if w.state.cancel != nil {
		w.state.cancel()
	}
}

// until returns a context that ends at t or when woken.
func (w waker) until(ctx context.Context, t time.Time) (context.Context, context.CancelFunc) {
	wait, cancel := context.WithDeadline(ctx, t)
	w.state.mu.Lock()
	defer w.state.mu.Unlock()
	if w.state.rung {
		cancel()
	}
	w.state.rung, w.state.cancel = false, cancel
	return wait, cancel
}

// wakeOn rings when c is closed.
func (w waker) wakeOn(c <-chan struct{}) (stop func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-c:
			w.wake()
		case <-done:
		}
	}()
	return func() { close(done) }
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
