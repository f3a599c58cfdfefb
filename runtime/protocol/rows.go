package protocol

import (
	"bytes"
	"slices"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/mutant"
)

// Progress is the progress row of one input: the only truth about what has been done with it and
// who may go on.
type Progress struct {
	Input runtime.Input
	// Owner is the container that may commit this input; zero while nobody may.
	Owner runtime.Incarnation
	Epoch runtime.Epoch
	// NextOwner is set while a move is planned; NextReady once the next owner has loaded what it needs.
	NextOwner runtime.Incarnation
	NextReady bool
	// TxID is that of the last committed batch.
	TxID runtime.TxID
	// Position is the next source offset, or the resume offset in an exchange partition.
	Position runtime.Offset
	// Applied says, for an exchange input, the last seq applied of each writer.
	Applied Applied
	// TopicID and LeaderEpoch are those of the topic as last read.
	TopicID     runtime.TopicID
	LeaderEpoch int32
	// Watermark is the event time, in milliseconds, below which nothing more is expected; Idle takes
	// the input out of the minimum.
	Watermark int64
	Idle      bool
}

// WriterSeq names one batch of one writer.
type WriterSeq struct {
	Writer runtime.WriterID
	Seq    runtime.Seq
}

// Applied is the set {writer → last seq applied}, ordered by writer. The zero value is empty.
type Applied []WriterSeq

// Seq returns the last seq applied of w, 0 if none.
func (a Applied) Seq(w runtime.WriterID) runtime.Seq {
	if i, ok := a.find(w); ok {
		return a[i].Seq
	}
	return 0
}

// With returns a with w's last seq set; it may reuse a's memory.
func (a Applied) With(w runtime.WriterID, s runtime.Seq) Applied {
	i, ok := a.find(w)
	if !ok {
		a = slices.Insert(a, i, WriterSeq{w, 0})
	}
	a[i].Seq = s
	return a
}

// Without returns a without w; it may reuse a's memory.
func (a Applied) Without(w runtime.WriterID) Applied {
	if i, ok := a.find(w); ok {
		return slices.Delete(a, i, i+1)
	}
	return a
}

func (a Applied) find(w runtime.WriterID) (int, bool) {
	return slices.BinarySearchFunc(a, w, func(e WriterSeq, w runtime.WriterID) int {
		return bytes.Compare(e.Writer[:], w[:])
	})
}

// WriterRow is the row of a writer: the commit point of its blocks.
type WriterRow struct {
	Writer    runtime.WriterID
	Stage     string
	Container runtime.Incarnation
	// Committed is the seq of the last decided batch: blocks up to it count, wherever they are read.
	Committed runtime.Seq
	// Closed: no later batch of this writer will ever be decided.
	Closed bool
	// CloseOffsets are the end offsets of every bucket of every exchange of the stage, listed after
	// the close was committed; nil until then.
	CloseOffsets []CloseOffset
}

// CloseOffset is the end offset of one bucket, listed after a writer was closed.
type CloseOffset struct {
	Input  runtime.Input
	Offset runtime.Offset
}

// Descriptor pins what a batch of a transactional spout holds, before its first block is produced.
type Descriptor struct {
	Input    runtime.Input
	TxID     runtime.TxID
	From, To runtime.Offset
	// Count is the number of records in [From, To): gaps are tolerated, fewer records are an error.
	Count       int64
	TopicID     runtime.TopicID
	LeaderEpoch int32
}

// Move advances one input within a commit.
type Move struct {
	Input runtime.Input
	// Epoch is asserted, together with the committing container as owner.
	Epoch runtime.Epoch
	// TxID is the batch's; the row must say TxID-1.
	TxID     runtime.TxID
	Position runtime.Offset
	// Applied is the whole new set; nil for a source partition.
	Applied Applied
	// Relied are the writers whose blocks this batch applied: committed_seq must be at least Seq.
	Relied []WriterSeq
	// Dropped are the closed writers whose blocks this batch dropped as garbage, with the lowest seq:
	// the writer must be closed with committed_seq below it, or gone.
	Dropped     []WriterSeq
	TopicID     runtime.TopicID
	LeaderEpoch int32
	Watermark   int64
	Idle        bool
	// GiveTo hands the input over in this commit; the row's next_owner must be GiveTo.
	GiveTo runtime.Incarnation
}

// Commit is the protocol's part of the one transaction of a batch. Everything is asserted by the
// store itself: if one assertion fails, nothing happens and the answer is ErrLost.
type Commit struct {
	Container runtime.Incarnation
	// Moves are ordered by Input, which is the order of the locks.
	Moves []Move
	// Writer, if its id is set, moves that writer's committed_seq from Seq-1 to Seq.
	Writer WriterSeq
}

// Result is what a commit found.
type Result struct {
	// Gone are writers that were pruned from some Applied because their rows are deleted.
	Gone []runtime.WriterID
}

// WriterState is what a receiver may know of a writer.
type WriterState struct {
	Writer    runtime.WriterID
	Committed runtime.Seq
	Closed    bool
}

// View is one snapshot of writer rows. A writer that is not in it is unknown.
type View []WriterState

// Find returns w's state and whether it is known.
func (v View) Find(w runtime.WriterID) (WriterState, bool) {
	for i := range v {
		if v[i].Writer == w {
			return v[i], true
		}
	}
	return WriterState{}, false
}

// Without returns the view without w; it reuses v's memory.
func (v View) Without(w runtime.WriterID) View {
	return slices.DeleteFunc(v, func(s WriterState) bool { return s.Writer == w && !mutant.On("pruneKeepsView") })
}
