package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

// caughtUp returns once all input present at its start is committed: first the sources up to the
// ends listed now, then, stage by stage, each exchange up to the end it has by then.
func (w *worker) caughtUp(ctx context.Context) error {
	err := w.catchUp(ctx)
	if ctx.Err() != nil {
		return nil // whatever ended the run says why
	}
	if err == nil {
		w.Log.Info("caught up")
	}
	return err
}

func (w *worker) catchUp(ctx context.Context) error {
	ends := make([]map[int32]runtime.Offset, len(w.groups))
	for n, g := range w.groups {
		if g.stage.Spout == nil {
			continue
		}
		var err error
		if ends[n], err = w.ends(ctx, g, g.stage.Spout.ReadCommitted); err != nil {
			return err
		}
	}
	for n, g := range w.groups {
		if ends[n] == nil {
			var err error
			if ends[n], err = w.ends(ctx, g, false); err != nil {
				return err
			}
		}
		if err := w.reach(ctx, g, ends[n]); err != nil {
			return err
		}
	}
	return nil
}

// ends lists the end of every partition, asking again while one has no leader.
func (w *worker) ends(ctx context.Context, g *group, committed bool) (map[int32]runtime.Offset, error) {
	for {
		offsets, err := w.Broker.Offsets(ctx, g.topic.Name)
		if err == nil && len(offsets) >= g.topic.Partitions {
			return endsOf(offsets, committed), nil
		}
		if err != nil && terminal(err) {
			return nil, fmt.Errorf("listing the ends of %s: %w", g.topic.Name, err)
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func endsOf(offsets map[int32]broker.Offsets, committed bool) map[int32]runtime.Offset {
	ends := make(map[int32]runtime.Offset, len(offsets))
	for p, o := range offsets {
		ends[p] = o.End
		if committed {
			ends[p] = o.Stable
		}
		if o.End <= o.Start {
			ends[p] = 0 // nothing there to read
		}
	}
	return ends
}

// reach waits until the committed positions of a stage are at or past ends.
func (w *worker) reach(ctx context.Context, g *group, ends map[int32]runtime.Offset) error {
	for {
		rows, err := w.Store.Load(ctx, g.stage.Operator)
		if err == nil {
			behind := 0
			for _, r := range rows {
				if r.Position < ends[r.Input.Partition] {
					behind++
				}
			}
			if behind == 0 {
				return nil
			}
		} else if terminal(err) {
			return fmt.Errorf("reading the progress of %s: %w", g.stage.Operator, err)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
