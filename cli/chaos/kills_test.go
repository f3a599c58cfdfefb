//go:build kafka

package chaos

import (
	"fmt"
	"testing"
	"time"

	"github.com/selfregulating/sr/cli/chaos/cell"
)

// shortRecords is how many records each cell of the short run counts.
const shortRecords = 60_000

// Every cell, every crash point once, and a kill at any time in every cell.
func TestChaosShortKills(t *testing.T) {
	cells := append(cell.ExactlyOnce(), cell.Weaker()...)
	plan := shared(cells, random(t))
	for _, c := range cells {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c, setting{})
			steps := len(plan[c]) + 2
			for _, p := range plan[c] {
				w.killAt(p, shortRecords/steps)
			}
			w.killAnytime(shortRecords / steps)
			w.feed(shortRecords / steps)
			w.settle(launch{})
		})
	}
}

// killAt runs the cell until it is killed at a point, while n records are fed.
func (w *world) killAt(p point, n int) {
	w.t.Helper()
	w.feed(n / 2)
	l := launch{crashAt: p.name, untilCaughtUp: p.way == draining}
	if p.most > 1 {
		l.crashAt = fmt.Sprintf("%s:%d", p.name, 1+w.rand.IntN(p.most))
	}
	var through *proxy
	switch p.way {
	case entering:
		w.killAnytime(n / 10)
	case unknowing:
		through = newProxy(w)
		through.arm(&fault{kind: cutBefore, chance: 0.5, rand: w.dice()})
		l.postgres = through.through(w)
	}
	node := w.start(l)
	fed := w.feeding(n - n/2)
	w.feedUntil(func() bool { return !node.running() })
	fed()
	node.crashesAt(p.name)
}

// killAnytime runs the cell and kills it at any time after its first commit.
func (w *world) killAnytime(n int) {
	w.t.Helper()
	node := w.start(launch{})
	fed := w.feeding(n)
	w.moves(1)
	time.Sleep(time.Duration(w.rand.IntN(300)) * time.Millisecond)
	if !node.running() {
		w.t.Fatalf("a node ended (%s) before it was killed", node.cmd.ProcessState)
	}
	node.kill()
	fed()
	tally.killed(w.cell.String(), "any time")
}
