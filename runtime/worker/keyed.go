package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/vitals"
)

// keyed is an instance of a keyed stage. One loop owns everything below; polls of decisions and
// commits in flight are helpers that report through events.
type keyed struct {
	*worker
	g     *group
	op    *topology.Keyed
	index int
	log   *slog.Logger
	vit   *vitals.Instance
	waker

	reader    broker.Reader
	appender  broker.Appender // nil if nothing is behind the stage
	out       *outbox         // what a batch has for the stages behind; nil if none
	emit      emit            // fills out
	prod      protocol.Production
	decisions protocol.Decisions
	buckets   map[int32]*bucket
	order     []*bucket
	merger    exchange.Merger
	shape     *exchange.Shape
	flight    *keyedFlight
	events    chan keyedEvent
	polls     polls

	gate     *gate
	full     bool
	draining map[int32]runtime.Offset // ends to reach before the instance may stop; nil while it runs
	// refused are entries that the database refused after their values had been handed on: they become
	// dead letters when the batch is built again.
	refused map[string]string
	// emitBytes bounds what a batch gathers if its new values go on to another stage: their blocks have
	// a bound, too. Halved when one does not fit.
	emitBytes int
	gapAt     map[int32]runtime.Offset // gaps seen once: the row is read again before one is believed
	patience  patience
}

// bucket is what the instance has of one bucket: the protocol's memory, and what was merged since
// the last freeze. The second table belongs to the commit in flight.
type bucket struct {
	recv         protocol.Receiver
	dirty, spare *exchange.BucketTable
	rows         *rowCache // nil if the state folds in SQL
	since        time.Time // when the oldest block of this batch was read
	merged       time.Time // when the first block of this batch was merged
	held         int       // bytes of undecided blocks
	committed    time.Time // when it was frozen last
	ingest       int64
	dead         []store.DeadLetter
}

func (w *worker) newKeyed(g *group, index int, own *gate) (*keyed, error) {
	k := &keyed{
		worker: w, g: g, op: g.stage.Keyed, index: index, gate: own,
		log:    w.Log.With("operator", g.stage.Operator, "instance", index),
		vit:    w.Vitals.Add(g.stage.Operator, index),
		waker:  newWaker(),
		events: make(chan keyedEvent, 4),
		gapAt:  map[int32]runtime.Offset{}, refused: map[string]string{},
		prod: protocol.Production{Container: w.self.Incarnation, Emits: emits(g.stage)},
	}
	var err error
	// Tuples that travelled apart are combined here, unless each is needed on its own.
	if k.shape, err = exchange.NewShape(k.op.Layout, k.op.Reduce == nil); err != nil {
		return nil, fmt.Errorf("laying out the entries of %s: %w", k.op.Operator, err)
	}
	k.reader, err = w.Broker.NewReader(broker.ReaderConfig{Topic: g.topic.Name, TopicID: g.topic.ID, MaxPartitionBytes: exchange.BlockMax + 1<<20})
	if err != nil {
		return nil, fmt.Errorf("opening a reader of %s: %w", g.topic.Name, err)
	}
	if k.prod.Emits {
		if k.appender, err = w.Broker.NewAppender(broker.AppenderConfig{}); err != nil {
			k.close()
			return nil, fmt.Errorf("opening a producer: %w", err)
		}
		if k.out, err = newOutbox(g.stage); err != nil {
			k.close()
			return nil, err
		}
		k.emitBytes = exchange.BlockTarget
		k.emit = k.out.fill(k.op)
	}
	return k, nil
}

func (k *keyed) close() {
	k.reader.Close()
	if k.appender != nil {
		k.appender.Close()
	}
}

// run is the loop: take what came back, decide, merge, commit what is due, read more.
func (k *keyed) run(ctx context.Context, drain <-chan struct{}) error {
	if err := k.load(ctx); err != nil {
		return err
	}
	defer k.wakeOn(drain)()
	defer k.awaitFlight()
	for {
		if err := k.handleEvents(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		if isClosed(drain) && k.draining == nil {
			if err := k.beginDrain(ctx); err != nil {
				return err
			}
		}
		if err := k.settle(ctx, false); err != nil {
			return err
		}
		now := time.Now()
		if k.drained() {
			return k.finish(ctx)
		}
		if k.flight == nil {
			if err := k.commitDue(ctx, now); err != nil {
				return err
			}
		}
		k.pollDue(ctx, now)
		k.feedback(now)
		if err := k.readMore(ctx, now); err != nil {
			return err
		}
	}
}

// load takes the instance's buckets from their rows: receivers with nothing but the row, no decision
// cached (▲ Receiving 7), reading from the resume offset.
func (k *keyed) load(ctx context.Context) error {
	rows, err := retry(ctx, k.log, "reading progress", func(ctx context.Context) ([]protocol.Progress, error) {
		return k.Store.Load(ctx, k.op.Operator)
	})
	if err != nil || ctx.Err() != nil {
		return err
	}
	k.buckets, k.order = map[int32]*bucket{}, nil
	k.decisions.Forget()
	for _, row := range rows {
		p := row.Input.Partition
		if !mine(p, k.index, max(1, k.g.stage.Parallelism)) || row.Owner != k.self.Incarnation {
			continue
		}
		b := &bucket{recv: protocol.NewReceiver(row), dirty: exchange.NewBucketTable(k.shape), spare: exchange.NewBucketTable(k.shape), committed: time.Now()}
		if k.op.Reduce != nil {
			if b.rows, err = k.newRowCache(k.op, p, k.CacheBytes/k.op.Buckets); err != nil {
				return err
			}
		}
		k.buckets[p] = b
		k.order = append(k.order, b)
		k.reader.Seek(p, row.Position)
	}
	return k.checkWentBack(ctx, rows)
}

// checkWentBack stops if a bucket has applied more of a writer than that writer's row admits.
func (k *keyed) checkWentBack(ctx context.Context, rows []protocol.Progress) error {
	var ids []runtime.WriterID
	for _, row := range rows {
		for _, a := range row.Applied {
			ids = append(ids, a.Writer)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	view, err := retry(ctx, k.log, "reading decisions", func(ctx context.Context) (protocol.View, error) { return k.Store.View(ctx, ids) })
	if err != nil {
		return err
	}
	for _, row := range rows {
		for _, a := range row.Applied {
			if s, known := view.Find(a.Writer); known && s.Committed < a.Seq {
				return &protocol.WentBackError{Input: row.Input, Writer: a.Writer, Applied: a.Seq, Committed: s.Committed}
			}
		}
	}
	return nil
}

// restart forgets all that is not committed and starts again from the rows.
func (k *keyed) restart(ctx context.Context) error {
	k.vit.Reloads.Add(1)
	k.awaitFlight()
	for p := range k.buckets {
		k.reader.Leave(p)
	}
	writer, raise := k.prod.Void()
	if _, err := retry(ctx, k.log, "giving up a batch", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, k.giveUp(ctx, writer, raise)
	}); err != nil {
		return err
	}
	k.polls = polls{}
	return k.load(ctx)
}

// recover answers an error: terminal ones stop the instance, others are waited out.
func (k *keyed) recover(ctx context.Context, err error) error {
	if err := k.patience.wait(ctx, k.log, k.op.Operator, err); err != nil || ctx.Err() != nil {
		return err
	}
	return k.restart(ctx)
}

// settle decides held blocks from the cached snapshot and merges those that count.
func (k *keyed) settle(ctx context.Context, fresh bool) error {
	view := k.decisions.View()
	if len(view) == 0 && !fresh {
		return nil
	}
	for p, b := range k.buckets {
		if len(b.recv.Pending()) == 0 || k.emitFull(b) {
			continue
		}
		var asked runtime.Offset
		if fresh {
			asked = k.polls.asked[p]
		}
		apply, err := b.recv.SettleAsked(view, asked)
		for _, block := range apply {
			if err := k.merge(b, block); err != nil {
				return err
			}
		}
		if err != nil {
			return k.gap(ctx, err)
		}
		b.held = 0
		for _, block := range b.recv.Pending() {
			b.held += len(block.Body)
		}
		k.count(&b.recv)
	}
	return nil
}

// gap answers a gap in a writer's blocks. The row is read again first: whoever does not own the
// bucket any more may see gaps that are none.
func (k *keyed) gap(ctx context.Context, err error) error {
	var g *protocol.GapError
	if !errors.As(err, &g) {
		return err
	}
	if at, seen := k.gapAt[g.Input.Partition]; seen && at == g.Offset {
		return g
	}
	k.gapAt[g.Input.Partition] = g.Offset
	return k.restart(ctx)
}

// emitFull tells whether a bucket whose new values go on to another stage has gathered as much as one
// batch should emit; the rest of its blocks waits for the next.
func (k *keyed) emitFull(b *bucket) bool { return k.out != nil && b.dirty.Bytes() >= k.emitBytes }

func (k *keyed) merge(b *bucket, block protocol.Block) error {
	h, body, err := exchange.ParseBlock(block.Body)
	if err != nil {
		return &SignatureError{b.recv.Input, block.Offset, err.Error()}
	}
	if err := k.merger.MergeBlock(b.dirty, h, body); err != nil {
		if errors.Is(err, exchange.ErrOverflow) {
			return k.overflow(b, h, body, block)
		}
		return &SignatureError{b.recv.Input, block.Offset, err.Error()}
	}
	if b.ingest == 0 || h.Ingest < b.ingest {
		b.ingest = h.Ingest
	}
	if b.merged.IsZero() {
		b.merged = time.Now()
	}
	k.vit.Tuples.Add(h.Tuples)
	crash.Point("keyed-merged")
	return nil
}

// overflow: a sum of this batch would leave 64 bits. The entries that do it become dead letters.
func (k *keyed) overflow(b *bucket, h exchange.Header, body []byte, block protocol.Block) error {
	err := k.merger.MergeEach(b.dirty, h, body, func(e *exchange.Entry) {
		b.dead = append(b.dead, store.DeadLetter{
			Operator: k.op.Operator, Input: b.recv.Input, Topic: k.g.topic.Name, Partition: b.recv.Input.Partition, Offset: block.Offset,
			Attempts: 1, Error: exchange.ErrOverflow.Error(), Key: clone(e.Key), Payload: []byte(exchange.FormatKey(e.Key)),
		})
	})
	if err != nil {
		return &SignatureError{b.recv.Input, block.Offset, err.Error()}
	}
	return nil
}

func (k *keyed) count(r *protocol.Receiver) {
	k.vit.Duplicate.Add(r.Counts.Duplicate)
	k.vit.Garbage.Add(r.Counts.Garbage)
	k.vit.Orphaned.Add(r.Counts.Orphaned)
	r.Counts = protocol.Counts{}
}

// finish ends the instance; its writer is closed, so that receivers need not wait for it.
func (k *keyed) finish(ctx context.Context) error {
	k.gate.set(false, k.full)
	k.full = false
	if id := k.prod.Writer(); !id.IsZero() {
		if err := k.closeWriter(ctx, id); err != nil {
			k.log.Warn("the writer could not be closed; leaving the topology closes it", "error", err)
		}
	}
	return nil
}
