package protocol

import (
	"slices"

	"github.com/selfregulating/sr/runtime"
)

// Owned is the memory of an owned source partition, batches in flight included.
type Owned struct {
	Input    runtime.Input
	Epoch    runtime.Epoch
	TxID     runtime.TxID
	Position runtime.Offset
}

// Cut says how far a batch goes in one source partition.
type Cut struct {
	Input       runtime.Input
	Position    runtime.Offset
	TopicID     runtime.TopicID
	LeaderEpoch int32
	Watermark   int64
	Idle        bool
}

// Emitter is the memory of an instance that reads source partitions.
type Emitter struct {
	Production
	owned []Owned
}

// NewEmitter returns the memory of an instance that owns nothing yet.
func NewEmitter(container runtime.Incarnation, emits bool) Emitter {
	return Emitter{Production: Production{Container: container, Emits: emits}}
}

// Take adopts a row that names this container as owner. It does nothing while a batch in flight
// holds the partition or the outcome of a commit is unknown: those must end first.
func (e *Emitter) Take(row Progress) bool {
	if row.Owner != e.Container || e.Unknown() || e.Holds(row.Input) {
		return false
	}
	o := Owned{row.Input, row.Epoch, row.TxID, row.Position}
	if i, ok := e.find(row.Input); ok {
		e.owned[i] = o
	} else {
		e.owned = slices.Insert(e.owned, i, o)
	}
	return true
}

// Drop forgets a partition that was given away.
func (e *Emitter) Drop(in runtime.Input) {
	if i, ok := e.find(in); ok {
		e.owned = slices.Delete(e.owned, i, i+1)
	}
}

// Owned returns the memory of the partitions, ordered by Input; the caller must not change it.
func (e *Emitter) Owned() []Owned { return e.owned }

// Begin cuts a batch: cuts name owned partitions, ordered by Input; outs are the non-empty out-buckets.
func (e *Emitter) Begin(cuts []Cut, outs []int) *Flight {
	moves := make([]Move, len(cuts))
	for k, c := range cuts {
		i, ok := e.find(c.Input)
		if !ok {
			panic("protocol: a batch holds a partition that this instance does not own: " + c.Input.String())
		}
		o := &e.owned[i]
		o.TxID++
		o.Position = c.Position
		moves[k] = Move{
			Input: c.Input, Epoch: o.Epoch, TxID: o.TxID, Position: c.Position,
			TopicID: c.TopicID, LeaderEpoch: c.LeaderEpoch, Watermark: c.Watermark, Idle: c.Idle,
		}
	}
	return e.BeginMoves(moves, outs)
}

// Void gives up every batch in flight and forgets all rows: they have to be reloaded and taken again.
func (e *Emitter) Void() (writer runtime.WriterID, raise []runtime.Input) {
	e.owned = nil
	return e.Production.Void()
}

func (e *Emitter) find(in runtime.Input) (int, bool) {
	return slices.BinarySearchFunc(e.owned, in, func(o Owned, in runtime.Input) int { return o.Input.Compare(in) })
}

// Clone returns a deep copy; the explorer branches with it.
func (e *Emitter) Clone() Emitter {
	return Emitter{Production: e.Production.Clone(), owned: slices.Clone(e.owned)}
}
