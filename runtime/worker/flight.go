package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/mutant"
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
	buried      bool // entries were refused, so the caches hold rows that the store does not
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
	if s.kind() == topology.AtMostOnce {
		moves := protocol.Commit{Container: s.self.Incarnation, Moves: f.protocol.Commit.Moves}
		_, err := s.commit(ctx, moves, store.Writes{DeadLetters: s.deadLetters(f)})
		return err
	}
	return nil
}

// kind decides the order of progress and output.
func (s *source) kind() topology.SpoutKind {
	if mutant.On("progressBeforeOutput") {
		return topology.AtMostOnce
	}
	return s.g.stage.Spout.Kind
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
	c := f.protocol.Commit
	w, err := s.writes(ctx, f)
	if err != nil {
		return protocol.Result{}, err
	}
	buried := func() { f.buried = true }
	switch s.kind() {
	case topology.AtMostOnce:
		c.Moves, w.DeadLetters = nil, w.DeadLetters[len(f.batch.dead):] // those of records went with the progress
		return s.commitOrBury(ctx, c, w, buried)
	case topology.AtLeastOnce:
		output := c
		output.Moves = nil
		dead := w.DeadLetters[:len(f.batch.dead)]
		w.DeadLetters = w.DeadLetters[len(f.batch.dead):]
		if _, err := s.commitOrBury(ctx, output, w, buried); err != nil {
			return protocol.Result{}, err
		}
		crash.Point("source-output")
		c.Writer = protocol.WriterSeq{}
		return s.commit(ctx, c, store.Writes{DeadLetters: dead})
	}
	return s.commitOrBury(ctx, c, w, buried)
}

// writes collects what a batch writes beside its progress: the state of direct edges, dead letters.
func (s *source) writes(ctx context.Context, f *flight) (store.Writes, error) {
	w := store.Writes{DeadLetters: s.deadLetters(f)}
	for i, e := range s.g.stage.Outs {
		if !e.Direct {
			continue
		}
		for _, m := range f.protocol.Commit.Moves {
			p := m.Input.Partition
			t := f.batch.tables[i].Bucket(p)
			if t.Len() == 0 {
				continue
			}
			rows, err := s.cacheOf(i, p)
			if err != nil {
				return w, err
			}
			if err := writeBucket(ctx, bucketCommit{k: e.To, bucket: p, txid: m.TxID, rows: rows}, t, &w); err != nil {
				return w, err
			}
			s.vit.Rows.Add(int64(t.Len()))
		}
	}
	return w, nil
}

// cacheOf is the cache of a partition's rows for a direct edge that reads, modifies and writes.
func (s *source) cacheOf(edge int, p int32) (*rowCache, error) {
	k := s.g.stage.Outs[edge].To
	if k.Reduce == nil {
		return nil, nil
	}
	if s.caches[edge] == nil {
		s.caches[edge] = map[int32]*rowCache{}
	}
	rows := s.caches[edge][p]
	if rows == nil {
		var err error
		if rows, err = s.newRowCache(k, p, s.CacheBytes/s.g.topic.Partitions); err != nil {
			return nil, err
		}
		s.caches[edge][p] = rows
	}
	return rows, nil
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
	for _, m := range f.protocol.Commit.Moves {
		for _, caches := range s.caches {
			keep(caches[m.Input.Partition], m.TxID, f.buried)
		}
	}
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
		s.lost(e.flight)
		crash.Point("source-unknown")
	}
	f := e.flight
	f.batch.reset()
	s.spare = f.batch
	return s.recover(ctx, e.err)
}

// lost takes note of a request whose outcome is unknown. If that may be the describing of a batch, the
// epochs are raised too: a late one would replace the descriptor of the next attempt.
func (s *source) lost(f *flight) {
	s.em.Lost()
	for _, d := range f.descriptors {
		s.describing = append(s.describing, d.Input)
	}
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
