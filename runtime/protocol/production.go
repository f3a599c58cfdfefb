package protocol

import (
	"slices"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/mutant"
)

// Flight is a batch between its cut and its commit.
type Flight struct {
	Commit Commit
	Stamps []Stamp
	unsent []int // out-buckets whose block is not acknowledged yet
}

// Acked tells whether every block of the batch is acknowledged (Writing 2).
func (f *Flight) Acked() bool { return len(f.unsent) == 0 }

// Production is the memory of an instance's batches in flight, oldest first. If the stage has an
// exchange behind it, its batches are decided by its writer; otherwise by the epochs of its inputs.
type Production struct {
	Container runtime.Incarnation
	// Emits tells whether the stage has an exchange behind it and so needs a writer.
	Emits   bool
	writer  Writer
	flights []*Flight
	unknown bool
}

// Writer returns the id of the open writer, zero if there is none.
func (p *Production) Writer() runtime.WriterID { return p.writer.ID }

// Opened adopts a writer whose row was just inserted (Writing 1).
func (p *Production) Opened(id runtime.WriterID, outs int) { p.writer = NewWriter(id, outs) }

// Unknown tells whether the outcome of a commit is unknown.
func (p *Production) Unknown() bool { return p.unknown }

// Flights returns the number of batches in flight.
func (p *Production) Flights() int { return len(p.flights) }

// BeginMoves puts a batch in flight. Moves are ordered by Input; outs are the non-empty out-buckets.
// The caller produces the stamped blocks, reports Acked, and commits in order.
func (p *Production) BeginMoves(moves []Move, outs []int) *Flight {
	f := &Flight{Commit: Commit{Container: p.Container, Moves: moves}}
	if p.Emits {
		if p.writer.ID.IsZero() {
			panic("protocol: a batch begins before its writer is open")
		}
		f.Commit.Writer.Writer = p.writer.ID
		f.Commit.Writer.Seq, f.Stamps = p.writer.Begin(outs)
		f.unsent = slices.Clone(outs)
	}
	p.flights = append(p.flights, f)
	return f
}

// Acked reports that Kafka acknowledged the block of one out-bucket.
func (p *Production) Acked(f *Flight, out int) {
	if i := slices.Index(f.unsent, out); i >= 0 {
		f.unsent = slices.Delete(f.unsent, i, i+1)
	}
}

// Oldest returns the batch whose commit comes next, nil if there is none or it is not fully
// acknowledged, or an unknown outcome has to be resolved first.
func (p *Production) Oldest() *Flight {
	if p.unknown || len(p.flights) == 0 || !p.flights[0].Acked() && !mutant.On("commitBeforeAcks") {
		return nil
	}
	return p.flights[0]
}

// Committed reports that the oldest batch was committed.
func (p *Production) Committed() { p.flights = slices.Delete(p.flights, 0, 1) }

// Lost reports that the outcome of the oldest batch's commit is unknown (Writing 5). Nothing may
// happen until the caller has closed the writer, or raised the epochs, that Void names.
func (p *Production) Lost() { p.unknown = true }

// Void gives up every batch in flight (Writing 4). The caller must close the returned writer's row
// (zero if none was open) before anything else; in a stage without a writer it must raise the epoch
// of the returned inputs, which are those of a commit whose outcome is unknown.
func (p *Production) Void() (writer runtime.WriterID, raise []runtime.Input) {
	writer = p.writer.ID
	if p.unknown && !p.Emits && !mutant.On("reloadOnly") { // ▲ Writing 5
		for _, f := range p.flights {
			for _, m := range f.Commit.Moves {
				raise = append(raise, m.Input)
			}
		}
	}
	if mutant.On("abandonKeepsWriter") || // ▲ Writing 4
		p.unknown && mutant.On("unknownKeepsWriter") { // ▲ Writing 5
		writer = runtime.WriterID{}
	}
	p.writer, p.flights, p.unknown = Writer{}, nil, false
	return writer, raise
}

// Holds tells whether a batch in flight moves in.
func (p *Production) Holds(in runtime.Input) bool {
	for _, f := range p.flights {
		for _, m := range f.Commit.Moves {
			if m.Input == in {
				return true
			}
		}
	}
	return false
}

// Clone returns a deep copy; the explorer branches with it.
func (p *Production) Clone() Production {
	c := *p
	c.writer = p.writer.clone()
	c.flights = nil
	for _, f := range p.flights {
		g := *f
		g.unsent = slices.Clone(f.unsent)
		c.flights = append(c.flights, &g)
	}
	return c
}
