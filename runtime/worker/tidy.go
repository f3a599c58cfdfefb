package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/mutant"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/topology"
)

const (
	tidyEvery = 5 * time.Second
	trimEvery = time.Minute
)

// tidy lists the close offsets of closed writers, deletes writer rows that no bucket needs, and trims
// the exchanges, until ctx ends. Nothing depends on it but the size of things.
func (w *worker) tidy(ctx context.Context) error {
	trims := newTrims()
	for {
		if sleep(ctx, w.tidyPause()) != nil {
			return nil
		}
		if err := w.tidyWriters(ctx); err != nil && ctx.Err() == nil {
			w.Log.Warn("tidying the writers did not work; trying on", "error", err)
		}
		if err := w.trim(ctx, trims, time.Now()); err != nil && ctx.Err() == nil {
			w.Log.Warn("trimming an exchange did not work; trying on", "error", err)
		}
	}
}

// tidyPause is shorter where leases are: who expects lives to be short has more to tidy.
func (w *worker) tidyPause() time.Duration { return min(tidyEvery, 2*w.Lease) }

func (w *worker) tidyWriters(ctx context.Context) error {
	for _, g := range w.groups {
		if !emits(g.stage) {
			continue
		}
		list := w.closeOffsets
		if mutant.On("closeOffsetsBeforeClose") {
			early, err := w.closeOffsets(ctx, g.stage)
			list = func(context.Context, *topology.Stage) ([]protocol.CloseOffset, error) { return early, err }
		}
		// ▲ Writing 7: the writers are known to be closed before the offsets are asked for.
		closed, err := w.Store.Unlisted(ctx, string(g.stage.Operator))
		if err != nil {
			return fmt.Errorf("listing closed writers of %s: %w", g.stage.Operator, err)
		}
		if len(closed) == 0 {
			continue
		}
		crash.Point("close-found")
		offsets, err := list(ctx, g.stage)
		if err != nil {
			return err
		}
		if err := w.Store.ListClose(ctx, closed, offsets); err != nil {
			return fmt.Errorf("storing close offsets of %s: %w", g.stage.Operator, err)
		}
		crash.Point("close-listed")
	}
	n, err := w.Store.DeleteWriters(ctx, w.TrimMargin)
	if n > 0 {
		crash.Point("writers-deleted")
	}
	return err
}

// closeOffsets lists the end of every bucket behind a stage; all of them or an error.
func (w *worker) closeOffsets(ctx context.Context, s *topology.Stage) ([]protocol.CloseOffset, error) {
	var list []protocol.CloseOffset
	for _, e := range s.Outs {
		if e.Direct {
			continue
		}
		name := ExchangeTopic(w.Topology, e.To.Operator)
		offsets, err := w.Broker.Offsets(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("listing the ends of %s: %w", name, err)
		}
		for b := int32(0); b < int32(e.To.Buckets); b++ {
			o, ok := offsets[b]
			if !ok {
				return nil, fmt.Errorf("listing the ends of %s: bucket %d has no leader", name, b)
			}
			list = append(list, protocol.CloseOffset{Input: runtime.Input{Operator: e.To.Operator, Partition: b}, Offset: o.End})
		}
	}
	return list, nil
}

func emits(s *topology.Stage) bool {
	for _, e := range s.Outs {
		if !e.Direct {
			return true
		}
	}
	return false
}

// trims remembers resume offsets of the past, to trim only what was consumed a margin ago.
type trims struct {
	last time.Time
	past []resumes
}

// resumes are the resume offsets of one moment, and how many bytes were read of each exchange by then.
type resumes struct {
	at      time.Time
	offsets map[runtime.OperatorID]map[int32]runtime.Offset
	bytes   map[runtime.OperatorID]int64
}

func newTrims() *trims { return &trims{} }

// due returns the newest offsets of an operator that are older than the margin, or behind which lie
// more bytes than an exchange should keep; less tells that it is for the bytes.
func (t *trims) due(op runtime.OperatorID, now resumes, margin time.Duration, keep int64) (at map[int32]runtime.Offset, less bool) {
	for _, r := range t.past {
		old := now.at.Sub(r.at) >= margin
		if !old && now.bytes[op]-r.bytes[op] < keep {
			break
		}
		at, less = r.offsets[op], !old
	}
	return at, less
}

// forget drops what is older than the newest moment that the margin allows.
func (t *trims) forget(now time.Time, margin time.Duration) {
	for len(t.past) > 1 && now.Sub(t.past[1].at) >= margin {
		t.past = t.past[1:]
	}
}

// trim deletes consumed blocks behind the margin in every exchange.
func (w *worker) trim(ctx context.Context, t *trims, now time.Time) error {
	if now.Sub(t.last) < min(trimEvery, max(w.TrimMargin, tidyEvery)) {
		return nil
	}
	t.last = now
	taken, err := w.resumes(ctx, now)
	if err != nil {
		return err
	}
	t.past = append(t.past, taken)
	for op, current := range taken.offsets {
		below, less := t.due(op, taken, w.TrimMargin, w.TrimBytes)
		if below == nil {
			continue
		}
		if less {
			w.Log.Warn("an exchange holds more than its bound; consumed blocks go before the restore margin is over",
				"operator", op, "bytes", w.TrimBytes, "margin", w.TrimMargin)
		}
		for p, at := range below { // the database may have gone back since
			below[p] = min(at, current[p])
		}
		if err := w.Broker.Trim(ctx, ExchangeTopic(w.Topology, op), below); err != nil {
			return fmt.Errorf("trimming the exchange of %s: %w", op, err)
		}
		crash.Point("trimmed")
	}
	t.forget(now, w.TrimMargin)
	return nil
}

// resumes reads the committed resume offsets of every exchange.
func (w *worker) resumes(ctx context.Context, now time.Time) (resumes, error) {
	taken := resumes{at: now, offsets: map[runtime.OperatorID]map[int32]runtime.Offset{}, bytes: map[runtime.OperatorID]int64{}}
	for _, g := range w.groups {
		if g.stage.Keyed == nil {
			continue
		}
		rows, err := w.Store.Load(ctx, g.stage.Operator)
		if err != nil {
			return taken, fmt.Errorf("reading the resume offsets of %s: %w", g.stage.Operator, err)
		}
		at := map[int32]runtime.Offset{}
		for _, r := range rows {
			at[r.Input.Partition] = r.Position
		}
		taken.offsets[g.stage.Operator] = at
	}
	for _, i := range w.Vitals.Instances() {
		taken.bytes[i.Operator] += i.Bytes.Load()
	}
	return taken, nil
}
