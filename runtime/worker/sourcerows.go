package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/topology"
)

// mine tells whether a partition is this instance's share of the container's.
func mine(partition int32, index, of int) bool { return int(partition)%of == index }

// load takes the instance's partitions from their rows and starts reading; it waits out a store that
// does not answer.
func (s *source) load(ctx context.Context) error {
	rows, err := retry(ctx, s.log, "reading progress", func(ctx context.Context) ([]protocol.Progress, error) {
		return s.Store.Load(ctx, s.g.stage.Operator)
	})
	if err != nil {
		return err
	}
	var open []protocol.Descriptor
	if s.g.stage.Spout.Kind == topology.Transactional {
		if open, err = retry(ctx, s.log, "reading descriptors", func(ctx context.Context) ([]protocol.Descriptor, error) {
			return s.Store.Descriptors(ctx, s.g.stage.Operator)
		}); err != nil {
			return err
		}
	}
	s.caches = map[int]map[int32]*rowCache{}
	s.rows, s.replays, s.behind = map[int32]protocol.Progress{}, map[int32][]protocol.Descriptor{}, map[int32]int64{}
	for _, row := range rows {
		if mine(row.Input.Partition, s.index, max(1, s.g.stage.Parallelism)) && s.em.Take(row) {
			s.rows[row.Input.Partition] = row
			s.cur.begin(row.Input.Partition, row.Position)
		}
	}
	for _, d := range open {
		// Those up to the row's txid are leftovers of a batch that was committed.
		if row, ok := s.rows[d.Input.Partition]; ok && d.TxID > row.TxID {
			s.replays[d.Input.Partition] = append(s.replays[d.Input.Partition], d)
		}
	}
	s.seek()
	return nil
}

// restart gives up everything in flight and in the making, and starts again from the rows.
func (s *source) restart(ctx context.Context) error {
	s.vit.Reloads.Add(1)
	s.dropRest()
	for _, o := range s.em.Owned() {
		s.reader.Leave(o.Input.Partition)
	}
	s.awaitFlight()
	writer, raise := s.em.Void()
	raise = append(raise, s.describing...)
	s.cur.reset()
	if _, err := retry(ctx, s.log, "giving up a batch", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.giveUp(ctx, writer, raise)
	}); err != nil || ctx.Err() != nil {
		return err
	}
	s.describing = nil
	return s.load(ctx)
}

// giveUp makes sure that no batch in flight can be committed late (▲ Writing 4 and 5).
func (w *worker) giveUp(ctx context.Context, writer runtime.WriterID, raise []runtime.Input) error {
	if !writer.IsZero() {
		if err := w.closeWriter(ctx, writer); err != nil {
			return fmt.Errorf("closing a writer: %w", err)
		}
	}
	if len(raise) > 0 {
		if err := w.Store.RaiseEpochs(ctx, w.self.Incarnation, raise); err != nil {
			return fmt.Errorf("raising epochs: %w", err)
		}
		crash.Point("epochs-raised")
	}
	return nil
}

// adoptNew takes rows that came since the last load, without disturbing the others.
func (s *source) adoptNew(ctx context.Context) error {
	s.reloads.Store(false)
	rows, err := s.Store.Load(ctx, s.g.stage.Operator)
	if err != nil {
		return s.recover(ctx, fmt.Errorf("reading progress: %w", err))
	}
	known := maps.Clone(s.rows)
	for _, row := range rows {
		p := row.Input.Partition
		if _, ok := known[p]; ok || !mine(p, s.index, max(1, s.g.stage.Parallelism)) || !s.em.Take(row) {
			continue
		}
		s.rows[p] = row
		s.cur.begin(p, row.Position)
		s.reader.Seek(p, row.Position)
		s.log.Info("reading a new partition", "partition", p, "from", row.Position)
	}
	return nil
}

// awaitFlight waits for the helper of a batch in flight, whose result no longer matters: the rows say it.
func (s *source) awaitFlight() {
	if s.flight == nil {
		return
	}
	e := <-s.events
	if errors.Is(e.err, protocol.ErrUnknown) {
		s.lost(e.flight)
	}
	e.flight.batch.reset()
	s.spare, s.flight = e.flight.batch, nil
}
