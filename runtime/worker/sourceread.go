package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/mutant"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
)

// maxWait bounds every wait of a loop, so that clocks and gates are looked at.
const maxWait = 100 * time.Millisecond

// rest is what of a fetch has not been gathered, because the batch was full.
type rest struct {
	fetch  broker.Fetch
	chunk  int
	record int
	// blocked: the next record does not fit beside what the batch holds.
	blocked bool
}

func (s *source) dropRest() {
	if s.rest != nil {
		s.rest.fetch.Release()
		s.rest = nil
	}
}

// gatherMore reads and gathers until the batch is full or it is time to look at the clocks again.
func (s *source) gatherMore(ctx context.Context, draining bool) error {
	now := time.Now()
	until := now.Add(maxWait)
	if at, ok := s.dueAt(now); ok && s.flight == nil && at.Before(until) {
		until = at
	}
	wait, cancel := s.until(ctx, until)
	defer cancel()
	if heldNow := held(s.g.gates) && len(s.replays) == 0; heldNow || draining || s.curFull() || s.replayed() {
		<-wait.Done()
		if heldNow {
			s.vit.HeldNanos.Add(int64(time.Since(now)))
		}
		return nil
	}
	if s.rest == nil {
		f, err := s.reader.Poll(wait)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return s.recover(ctx, fmt.Errorf("reading %s: %w", s.g.topic.Name, err))
		}
		s.rest = &rest{fetch: f}
		if err := s.fetchErrors(ctx, f.Errors); err != nil || s.rest == nil {
			return err
		}
	}
	return s.gatherRest(ctx)
}

// gatherRest takes records from the current fetch until it is used up or the batch is full.
func (s *source) gatherRest(ctx context.Context) error {
	now := time.Now()
	for r := s.rest; r.chunk < len(r.fetch.Chunks); r.chunk, r.record = r.chunk+1, 0 {
		done, err := s.gatherChunk(&r.fetch.Chunks[r.chunk], r, now)
		if errors.Is(err, errPartial) {
			return s.restart(ctx)
		}
		if err != nil {
			return err
		}
		if !done {
			return nil
		}
	}
	s.dropRest()
	return nil
}

// gatherChunk adds the records of a chunk; false means that the batch is full.
func (s *source) gatherChunk(c *broker.Chunk, r *rest, now time.Time) (bool, error) {
	sp := s.cur.spans[c.Partition]
	if sp == nil || s.replayOver(c.Partition, sp.to) { // given away meanwhile, or the replay ends here
		return true, nil
	}
	s.cur.route(c.Partition)
	end := s.replayEnd(c.Partition)
	begin := r.record
	at := sp.to
	for ; r.record < len(c.Records); r.record++ {
		rec := &c.Records[r.record]
		if rec.Offset < sp.to { // already in this batch or an earlier one
			continue
		}
		if rec.Offset >= end {
			break
		}
		if !s.room(c.Partition, rec, r, s.cur.moved || at > sp.to) {
			s.advance(c.Partition, at, r.record-begin, now)
			return false, nil
		}
		if err := s.take(c.Partition, rec); err != nil {
			if errors.Is(err, exchange.ErrBatchFull) && !errors.Is(err, errPartial) {
				r.blocked = true
				s.advance(c.Partition, at, r.record-begin, now)
				return false, nil
			}
			return false, err
		}
		at = rec.Offset + 1
		sp.leaderEpoch = rec.LeaderEpoch
		if s.cur.ingest == 0 || rec.Timestamp < s.cur.ingest {
			s.cur.ingest = rec.Timestamp
		}
	}
	s.advance(c.Partition, min(max(c.Next, at), end), r.record-begin, now)
	if c.End >= 0 {
		s.behind[c.Partition] = max(0, c.End-sp.to)
	}
	return true, nil
}

// advance moves the batch's span of a partition, and the vitals with it.
func (s *source) advance(p int32, to runtime.Offset, records int, now time.Time) {
	s.cur.advance(p, to, int64(records), now)
	s.vit.Records.Add(int64(records))
	s.vit.SetPosition(p, s.cur.spans[p].to)
}

// room tells whether the batch, which holds something already or not, may take another record. The
// bound is looked at every few records; a replay has none but its recorded end.
func (s *source) room(p int32, rec *broker.Record, r *rest, holds bool) bool {
	if len(s.replays) > 0 {
		return true
	}
	if len(s.cutBefore) > 0 && s.cutBefore[record{p, rec.Offset}] && holds {
		delete(s.cutBefore, record{p, rec.Offset})
		r.blocked = true
		return false
	}
	return r.record&63 != 63 || !s.cur.full(s.BatchBytes, 2*s.CommitRows)
}

// take adds a record, retrying a failure, and makes it a dead letter in the end.
func (s *source) take(p int32, rec *broker.Record) error {
	s.vit.Bytes.Add(int64(len(rec.Value)))
	if len(s.poison) > 0 {
		if why, ok := s.poison[record{p, rec.Offset}]; ok {
			s.bury(p, rec, why, 1)
			return nil
		}
	}
	err := s.cur.add(p, rec)
	attempts := 1
	for ; err != nil && attempts <= s.g.stage.Spout.Retries && !errors.Is(err, exchange.ErrBatchFull) && !errors.Is(err, errPartial); attempts++ {
		err = s.cur.add(p, rec)
	}
	switch {
	case err == nil:
	case errors.Is(err, errPartial) && errors.Is(err, exchange.ErrBatchFull):
		s.cutBefore[record{p, rec.Offset}] = true
		return err
	case errors.Is(err, errPartial):
		s.poison[record{p, rec.Offset}] = err
		return err
	case errors.Is(err, exchange.ErrBatchFull):
		return err
	default:
		s.bury(p, rec, err, attempts)
	}
	return nil
}

// bury adds a dead letter to the batch; it is written by the batch's own commit.
func (s *source) bury(p int32, rec *broker.Record, why error, attempts int) {
	s.cur.dead = append(s.cur.dead, store.DeadLetter{
		Operator: s.g.stage.Operator, Input: runtime.Input{Operator: s.g.stage.Operator, Partition: p},
		Topic: s.g.topic.Name, Partition: p, Offset: rec.Offset, Attempts: attempts, Error: why.Error(),
		Key: clone(rec.Key), Payload: clone(rec.Value), Timestamp: rec.Timestamp,
	})
}

func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// fetchErrors answers the errors of partitions.
func (s *source) fetchErrors(ctx context.Context, errs []broker.PartitionError) error {
	for _, e := range errs {
		var out *broker.OutOfRangeError
		switch {
		case e.Passing:
			s.log.Warn("a partition cannot be read now; trying on", "partition", e.Partition, "error", e.Err)
		case errors.As(e.Err, &out):
			return s.outOfRange(ctx, out)
		default:
			return s.recover(ctx, fmt.Errorf("reading %s[%d]: %w", s.g.topic.Name, e.Partition, e.Err))
		}
	}
	return nil
}

// outOfRange follows the spout's policy, after the rows have been read again (▲ Receiving 8): another
// may have moved them meanwhile. Every partition is looked at: after a retention they are lost together.
func (s *source) outOfRange(ctx context.Context, out *broker.OutOfRangeError) error {
	if err := s.restart(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	offsets, err := s.Broker.Offsets(ctx, s.g.topic.Name)
	if err != nil {
		return s.recover(ctx, fmt.Errorf("listing the offsets of %s: %w", s.g.topic.Name, err))
	}
	for p, row := range s.rows {
		o, known := offsets[p]
		if !known || row.Position >= o.Start && row.Position <= o.End {
			continue
		}
		lost := &broker.OutOfRangeError{Topic: s.g.topic.Name, Partition: p, At: row.Position, Offsets: o}
		if policy := s.g.stage.Spout.OutOfRange; !policy.Skip || len(s.replays[p]) > 0 {
			return &RangeError{row.Input, lost}
		}
		if err := s.skip(ctx, row, lost); err != nil {
			return s.recover(ctx, err)
		}
	}
	return nil
}

// skip moves a partition to where its policy says, and tells what was lost.
func (s *source) skip(ctx context.Context, row protocol.Progress, out *broker.OutOfRangeError) error {
	to, err := s.skipTo(ctx, out, s.g.stage.Spout.OutOfRange.To)
	if err != nil {
		return err
	}
	lost := max(0, to-row.Position)
	s.vit.SkippedOffsets.Add(lost)
	s.log.Warn("the spout's position is not in the topic any more; going on as its outOfRange policy says",
		"partition", out.Partition, "position", row.Position, "log_start", out.Offsets.Start, "end", out.Offsets.End,
		"going_on_at", to, "records_lost", lost)
	s.jump(out.Partition, to)
	return nil
}

// jump moves a span to another offset, forward or back, as the policy says.
func (s *source) jump(p int32, to runtime.Offset) {
	sp := s.cur.spans[p]
	sp.from, sp.to = to, to
	if !s.cur.moved {
		s.cur.moved, s.cur.oldest = true, time.Now()
	}
	sp.records = 0
	sp.jumped = true
	s.reader.Seek(p, to)
}

func (s *source) skipTo(ctx context.Context, out *broker.OutOfRangeError, to topology.Start) (runtime.Offset, error) {
	at, err := s.startOffsets(ctx, s.g.topic.Name, to)
	if err != nil {
		return 0, fmt.Errorf("finding where %s[%d] goes on: %w", s.g.topic.Name, out.Partition, err)
	}
	o, ok := at[out.Partition]
	if !ok {
		return 0, fmt.Errorf("finding where %s[%d] goes on: the partition has no leader", s.g.topic.Name, out.Partition)
	}
	return o, nil
}

// replayEnd is where the batch must stop in a partition: the recorded end of a replay, else nowhere.
func (s *source) replayEnd(p int32) runtime.Offset {
	switch d, replaying := s.replaying(); {
	case !replaying, mutant.On("replayToNow") && d.Input.Partition == p:
		return maxOffset
	case d.Input.Partition == p:
		return d.To
	}
	return 0 // others wait until the replays are done
}

// replaying returns the descriptor that is replayed now. They are replayed one at a time: what fitted
// into a batch together with others fits alone.
func (s *source) replaying() (protocol.Descriptor, bool) {
	if len(s.replays) == 0 {
		return protocol.Descriptor{}, false
	}
	first := slices.Min(slices.Collect(maps.Keys(s.replays)))
	return s.replays[first][0], true
}

const maxOffset = runtime.Offset(1<<63 - 1)

func (s *source) replayOver(p int32, at runtime.Offset) bool {
	return len(s.replays) > 0 && at >= s.replayEnd(p)
}

// replayedPartition is the partition of the descriptor that is replayed now, -1 if none is.
func (s *source) replayedPartition() int32 {
	if d, replaying := s.replaying(); replaying {
		return d.Input.Partition
	}
	return -1
}

// replayed tells whether a replay is gathered to its recorded end.
func (s *source) replayed() bool {
	d, replaying := s.replaying()
	return replaying && s.cur.spans[d.Input.Partition].to >= d.To
}

// describe makes the descriptors of a batch of a transactional spout, none for others. A replayed
// batch has its own already, which must hold as many records as it did.
func (s *source) describe(b *gather, f *protocol.Flight) []protocol.Descriptor {
	if s.g.stage.Spout.Kind != topology.Transactional || len(s.replays) > 0 {
		return nil
	}
	var ds []protocol.Descriptor
	for _, m := range f.Commit.Moves {
		sp := b.spans[m.Input.Partition]
		if sp.records == 0 && sp.from == sp.to {
			continue
		}
		ds = append(ds, protocol.Descriptor{
			Input: m.Input, TxID: m.TxID, From: sp.from, To: sp.to, Count: sp.records,
			TopicID: m.TopicID, LeaderEpoch: m.LeaderEpoch,
		})
	}
	return ds
}
