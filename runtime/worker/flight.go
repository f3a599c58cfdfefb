package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
)

// flight is a source batch between its cut and its commit. Only one goroutine works on it at a time.
type flight struct {
	protocol    *protocol.Flight
	batch       *gather
	descriptors []protocol.Descriptor
	begun       time.Time
}

// event is what a helper reports to the loop: the blocks are acknowledged, or the commit has ended.
type event struct {
	flight *flight
	acked  bool
	result protocol.Result
	err    error
}

// launch describes and produces a batch in the background.
func (s *source) launch(ctx context.Context, f *flight) {
	f.begun = time.Now()
	go func() {
		err := s.before(ctx, f)
		if err == nil {
			err = f.batch.out.produce(ctx, s.worker, s.appender, f.protocol.Stamps, f.batch.ingest, s.vit)
		}
		s.events <- event{flight: f, acked: true, err: err}
		s.wake()
	}()
}

// before does what has to be committed before the first block: the descriptors of a transactional
// spout; the progress of an at-most-once one.
func (s *source) before(ctx context.Context, f *flight) error {
	if len(f.descriptors) > 0 {
		epochs := make([]runtime.Epoch, len(f.descriptors))
		for i, d := range f.descriptors {
			for _, m := range f.protocol.Commit.Moves {
				if m.Input == d.Input {
					epochs[i] = m.Epoch
				}
			}
		}
		if err := s.Store.Describe(ctx, s.self.Incarnation, epochs, f.descriptors); err != nil {
			return fmt.Errorf("describing a batch: %w", err)
		}
		crash.Point("source-described")
	}
	if s.g.stage.Spout.Kind == topology.AtMostOnce {
		moves := protocol.Commit{Container: s.self.Incarnation, Moves: f.protocol.Commit.Moves}
		_, err := s.commit(ctx, moves, store.Writes{DeadLetters: s.deadLetters(f)})
		return err
	}
	return nil
}

// handleEvents takes what helpers have reported.
func (s *source) handleEvents(ctx context.Context) error {
	for {
		select {
		case e := <-s.events:
			if err := s.handle(ctx, e); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

func (s *source) handle(ctx context.Context, e event) error {
	if ctx.Err() != nil {
		s.flight = nil
		return nil
	}
	if e.err != nil {
		return s.failed(ctx, e)
	}
	if e.acked {
		for _, st := range e.flight.protocol.Stamps {
			s.em.Acked(e.flight.protocol, st.Out)
		}
		if s.em.Oldest() == e.flight.protocol {
			s.commitFlight(ctx, e.flight)
		}
		return nil
	}
	s.committed(e.flight)
	return nil
}

// commitFlight commits a batch whose blocks are all acknowledged, in the background.
func (s *source) commitFlight(ctx context.Context, f *flight) {
	go func() {
		crash.Point("source-committing")
		res, err := s.commitAs(ctx, f)
		if err == nil {
			crash.Point("source-committed")
			s.wakeBehind(f.batch.out.operators())
		}
		s.events <- event{flight: f, result: res, err: err}
		s.wake()
	}()
}

// commitAs commits as the spout's kind demands: everything at once for exactly-once kinds; output
// before progress for at-least-once; output alone for at-most-once, whose progress is committed.
func (s *source) commitAs(ctx context.Context, f *flight) (protocol.Result, error) {
	c, w := f.protocol.Commit, store.Writes{}
	var err error
	if w, err = s.writes(ctx, f); err != nil {
		return protocol.Result{}, err
	}
	switch s.g.stage.Spout.Kind {
	case topology.AtMostOnce:
		c.Moves, w.DeadLetters = nil, w.DeadLetters[len(f.batch.dead):] // those of records went with the progress
		return s.commitOrBury(ctx, c, w)
	case topology.AtLeastOnce:
		output := c
		output.Moves = nil
		dead := w.DeadLetters[:len(f.batch.dead)]
		w.DeadLetters = w.DeadLetters[len(f.batch.dead):]
		if _, err := s.commitOrBury(ctx, output, w); err != nil {
			return protocol.Result{}, err
		}
		crash.Point("source-output")
		c.Writer = protocol.WriterSeq{}
		return s.commit(ctx, c, store.Writes{DeadLetters: dead})
	}
	return s.commitOrBury(ctx, c, w)
}

// writes collects what a batch writes beside its progress: the state of direct edges, dead letters.
func (s *source) writes(ctx context.Context, f *flight) (store.Writes, error) {
	w := store.Writes{DeadLetters: s.deadLetters(f)}
	for i, e := range s.g.stage.Outs {
		if !e.Direct {
			continue
		}
		for _, m := range f.protocol.Commit.Moves {
			t := f.batch.tables[i].Bucket(m.Input.Partition)
			if t.Len() == 0 {
				continue
			}
			if err := s.writeBucket(ctx, e.To, m.Input.Partition, m.TxID, t, nil, nil, &w); err != nil {
				return w, err
			}
			s.vit.Rows.Add(int64(t.Len()))
		}
	}
	return w, nil
}

func (s *source) deadLetters(f *flight) []store.DeadLetter {
	for i := range f.batch.dead {
		d := &f.batch.dead[i]
		for _, m := range f.protocol.Commit.Moves {
			if m.Input == d.Input {
				d.TxID = m.TxID
			}
		}
	}
	return f.batch.dead
}

// committed takes note of a batch that was committed.
func (s *source) committed(f *flight) {
	s.em.Committed()
	s.flight = nil
	s.patience = patience{}
	s.vit.Batches.Add(1)
	s.vit.CommitNanos.Add(int64(time.Since(f.begun)))
	s.vit.DeadLetters.Add(int64(len(f.batch.dead)))
	for _, d := range f.batch.dead {
		delete(s.poison, record{d.Partition, d.Offset})
	}
	f.batch.reset()
	s.spare = f.batch
	s.endReplays(f)
}

// failed answers a batch that did not commit. Whatever the reason, it is not committed as produced
// any more (▲ Writing 4): its writer is closed and all is rebuilt from the rows.
func (s *source) failed(ctx context.Context, e event) error {
	s.flight = nil
	if errors.Is(e.err, protocol.ErrUnknown) {
		s.em.Lost()
		crash.Point("source-unknown")
	}
	f := e.flight
	f.batch.reset()
	s.spare = f.batch
	return s.recover(ctx, e.err)
}

// replayedWhole checks that a replayed batch holds what its descriptors say.
func (s *source) replayedWhole(b *gather) error {
	d, replaying := s.replaying()
	if !replaying {
		return nil
	}
	if sp := b.spans[d.Input.Partition]; sp.records < d.Count {
		return &ShortReplayError{d.Input, d.TxID, d.From, d.To, d.Count, sp.records}
	}
	return nil
}

// endReplays drops descriptors that were replayed; after the last one reading goes on everywhere.
func (s *source) endReplays(f *flight) {
	if len(s.replays) == 0 {
		return
	}
	for _, m := range f.protocol.Commit.Moves {
		ds := s.replays[m.Input.Partition]
		for len(ds) > 0 && ds[0].TxID <= m.TxID {
			ds = ds[1:]
		}
		if len(ds) == 0 {
			delete(s.replays, m.Input.Partition)
		} else {
			s.replays[m.Input.Partition] = ds
		}
	}
	s.dropRest()
	s.seek()
}

// seek starts reading every owned partition that is to be read now.
func (s *source) seek() {
	d, replaying := s.replaying()
	for _, o := range s.em.Owned() {
		if replaying && d.Input.Partition != o.Input.Partition {
			continue
		}
		s.reader.Seek(o.Input.Partition, s.cur.spans[o.Input.Partition].to)
	}
}
