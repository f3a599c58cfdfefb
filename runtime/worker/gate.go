package worker

import (
	"sync/atomic"

	"github.com/selfregulating/sr/runtime"
)

// gate holds back the stages that feed a keyed operator while one of its instances has more backlog
// than its high mark (DESIGN: Backpressure). Feeders look at it between batches only, never between
// produce and commit.
type gate struct {
	full atomic.Int32
}

// set tells whether one instance is full; was is what it told before.
func (g *gate) set(full, was bool) {
	switch {
	case full && !was:
		g.full.Add(1)
	case !full && was:
		g.full.Add(-1)
	}
}

// held tells whether a feeder has to wait.
func (g *gate) held() bool { return g.full.Load() > 0 }

func held(gates []*gate) bool {
	for _, g := range gates {
		if g.held() {
			return true
		}
	}
	return false
}

// wakeBehind makes the instances of the operators behind a stage look for decisions now.
func (w *worker) wakeBehind(s []runtime.OperatorID) {
	for _, g := range w.groups {
		for _, op := range s {
			if g.stage.Operator == op {
				for _, i := range g.instances {
					i.wake()
				}
			}
		}
	}
}
