package protocol

import (
	"bytes"
	"slices"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/mutant"
)

// Decisions is an instance's cache of writer rows. It is always one snapshot (▲ Receiving 3): mixing
// two would let a later owner's block pass an earlier owner's that stands before it in the log.
type Decisions struct {
	view View
}

// View returns the cached snapshot.
func (d *Decisions) View() View { return d.view }

// Forget drops the cache: at every takeover of a bucket (▲ Receiving 7).
func (d *Decisions) Forget() {
	if !mutant.On("takeoverKeepsView") {
		d.view = nil
	}
}

// Arrived tells of a block's writer. If the snapshot lacks it, the snapshot is too old to be used
// for anything read from now on. (Receiver sees to that too, for a snapshot that is still under way.)
func (d *Decisions) Arrived(w runtime.WriterID) {
	if _, known := d.view.Find(w); !known && !mutant.On("pollOneWriter") {
		d.view = nil
	}
}

// Wanted returns the writers that the next snapshot has to hold: those of all held blocks, and
// those cached.
func (d *Decisions) Wanted(receivers []*Receiver) []runtime.WriterID {
	var ids []runtime.WriterID
	for _, s := range d.view {
		ids = append(ids, s.Writer)
	}
	slices.SortFunc(ids, func(a, b runtime.WriterID) int { return bytes.Compare(a[:], b[:]) })
	for _, r := range receivers {
		ids = r.Writers(ids)
	}
	return ids
}

// Adopt replaces the cache by a snapshot.
func (d *Decisions) Adopt(v View) { d.view = v }

// Pruned drops a writer whose row is gone, together with its applied entry (▲ Receiving 7).
func (d *Decisions) Pruned(gone []runtime.WriterID) {
	for _, w := range gone {
		d.view = d.view.Without(w)
	}
}
