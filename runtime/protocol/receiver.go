package protocol

import (
	"bytes"
	"slices"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/mutant"
)

// Block is what a receiver needs to know of a block; Body is the caller's.
type Block struct {
	Offset    runtime.Offset
	Writer    runtime.WriterID
	Seq, Prev runtime.Seq
	Body      []byte
}

// Counts are what a receiver saw, for the vitals.
type Counts struct {
	Duplicate, Garbage, Orphaned int64
}

// Receiver is the memory of one bucket. Blocks are read in log order; those whose fate is open are
// held, and the resume offset stays at the first of them.
type Receiver struct {
	Input runtime.Input
	Epoch runtime.Epoch
	// TxID is that of the last batch frozen; Resume the resume offset of the last batch committed.
	TxID   runtime.TxID
	Resume runtime.Offset
	// Read is the next offset to read.
	Read    runtime.Offset
	TopicID runtime.TopicID

	pending []Block
	applied Applied
	relied  Applied // advanced since the last freeze
	dropped Applied // lowest garbage seq dropped since the last freeze
	frozen  runtime.Offset
	flying  bool
	Counts  Counts
}

// NewReceiver takes a bucket over from its row. ▲ Receiving 7: applied comes from the row, and the
// caller starts with an empty view.
func NewReceiver(row Progress) Receiver {
	if mutant.On("appliedNotHanded") {
		row.Applied = nil
	}
	return Receiver{
		Input: row.Input, Epoch: row.Epoch, TxID: row.TxID, Resume: row.Position, Read: row.Position,
		TopicID: row.TopicID, applied: slices.Clone(row.Applied), frozen: row.Position,
	}
}

// Arrive reads the next block. It is held until Settle decides it; a duplicate is skipped at once
// (Receiving 1).
func (r *Receiver) Arrive(b Block) {
	r.Read = b.Offset + 1
	if b.Seq <= r.applied.Seq(b.Writer) && !mutant.On("duplicatesApplied") {
		r.Counts.Duplicate++
		return
	}
	r.pending = append(r.pending, b)
}

// Skip moves past offsets that hold no block.
func (r *Receiver) Skip(to runtime.Offset) { r.Read = max(r.Read, to) }

// Pending returns the blocks held, in log order; the caller must not change them.
func (r *Receiver) Pending() []Block { return r.pending }

// Settle is SettleAsked for a view that was asked for after every held block arrived (fresh), or
// before any of them.
func (r *Receiver) Settle(view View, fresh bool) ([]Block, error) {
	if fresh {
		return r.SettleAsked(view, r.Read)
	}
	return r.SettleAsked(view, 0)
}

// SettleAsked decides held blocks from the view, in log order, and returns those to merge now, in
// order. asked is what Read was when the view was asked for: of the blocks below it, a writer that
// the view lacks is gone (▲ Receiving 3). The view must be one snapshot for all writers (▲), and
// stands for nothing behind a block whose writer it was not asked for: else blocks of two owners of
// one source partition could be applied in the wrong order.
func (r *Receiver) SettleAsked(view View, asked runtime.Offset) ([]Block, error) {
	var apply []Block
	kept := r.pending[:0]
	blind := false // a block stands before this one that the view knows nothing of
	for i, b := range r.pending {
		s, known := view.Find(b.Writer)
		switch {
		case b.Seq <= r.applied.Seq(b.Writer) && !mutant.On("duplicatesApplied"):
			r.Counts.Duplicate++
		case mutant.On("gapAtReceive") && b.Prev != r.applied.Seq(b.Writer):
			return apply, &GapError{r.Input, b.Offset, b.Writer, b.Seq, b.Prev, r.applied.Seq(b.Writer)}
		case !known && (b.Offset < asked && !mutant.On("unknownHeld") || mutant.On("unknownNoRefresh")):
			r.Counts.Orphaned++ // a writer of a timeline that a restore removed, or long deleted
		case (!known || blind) && !mutant.On("useUndecided"):
			kept = append(kept, b)
			blind = !mutant.On("blindToNewWriters")
		case s.Committed >= b.Seq || mutant.On("useUndecided"): // Receiving 4
			if prev := r.applied.Seq(b.Writer); b.Prev != prev && !mutant.On("noGapCheck") { // ▲
				r.pending = append(kept, r.pending[i:]...)
				return apply, &GapError{r.Input, b.Offset, b.Writer, b.Seq, b.Prev, prev}
			}
			r.applied = r.applied.With(b.Writer, b.Seq)
			r.relied = r.relied.With(b.Writer, b.Seq)
			apply = append(apply, b)
		case s.Closed && !mutant.On("garbageHeld"): // Receiving 5
			if low := r.dropped.Seq(b.Writer); low == 0 || b.Seq < low {
				r.dropped = r.dropped.With(b.Writer, b.Seq)
			}
			r.Counts.Garbage++
		default: // Receiving 2: as long as it takes
			kept = append(kept, b)
		}
	}
	clear(r.pending[len(kept):])
	r.pending = kept
	return apply, nil
}

// Position is the resume offset that a commit would write now: the first held block, else the end
// of what was read.
func (r *Receiver) Position() runtime.Offset {
	if len(r.pending) > 0 && !mutant.On("resumePastPending") {
		return r.pending[0].Offset
	}
	return r.Read
}

// Moved tells whether a commit now would change the row's position or applied set.
func (r *Receiver) Moved() bool {
	return len(r.relied) > 0 || len(r.dropped) > 0 || r.Position() != r.frozen
}

// Flying tells whether a commit of this bucket is under way.
func (r *Receiver) Flying() bool { return r.flying }

// Freeze ends the batch: the move stands for every block returned by Settle so far. Blocks decided
// from now on belong to the next batch (Receiving 6). One commit of a bucket flies at a time.
func (r *Receiver) Freeze() Move {
	if r.flying {
		panic("protocol: a second commit of " + r.Input.String() + " begins before the first has ended")
	}
	r.flying = true
	r.TxID++
	r.frozen = r.Position()
	m := Move{
		Input: r.Input, Epoch: r.Epoch, TxID: r.TxID, Position: r.frozen,
		Applied: slices.Clone(r.applied), Relied: r.relied, Dropped: r.dropped, TopicID: r.TopicID,
	}
	if m.Applied == nil {
		m.Applied = Applied{}
	}
	r.relied, r.dropped = nil, nil
	return m
}

// Committed reports that the frozen batch was committed. ▲ Receiving 7: what was pruned in the table
// goes here too; the caller drops the cached decision.
func (r *Receiver) Committed(gone []runtime.WriterID) {
	r.flying = false
	r.Resume = r.frozen
	for _, w := range gone {
		r.applied = r.applied.Without(w)
	}
}

// Clone returns a deep copy; the explorer branches with it.
func (r *Receiver) Clone() Receiver {
	c := *r
	c.pending = slices.Clone(r.pending)
	c.applied = slices.Clone(r.applied)
	c.relied = slices.Clone(r.relied)
	c.dropped = slices.Clone(r.dropped)
	return c
}

// Writers adds to set every writer that this receiver needs a decision of, ordered and once each.
func (r *Receiver) Writers(set []runtime.WriterID) []runtime.WriterID {
	for _, b := range r.pending {
		i, ok := slices.BinarySearchFunc(set, b.Writer, func(a, b runtime.WriterID) int { return bytes.Compare(a[:], b[:]) })
		if !ok {
			set = slices.Insert(set, i, b.Writer)
		}
	}
	return set
}
