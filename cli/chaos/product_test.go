//go:build kafka

package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/selfregulating/sr/cli/chaos/cell"
)

// ordeal is a fault in a cell, from its beginning until the node that met it is gone.
type ordeal struct {
	name string
	run  func(*world)
}

// productRecords is how many records an ordeal counts.
const productRecords = 6_000

// ordeals are all that can happen to a cell on servers that are shared.
func ordeals(c cell.Cell) []ordeal {
	all := []ordeal{{"killed at any time", func(w *world) { w.killAnytime(productRecords) }}}
	for _, p := range points {
		if !p.in(c) {
			continue
		}
		all = append(all, ordeal{"killed at " + p.name, func(w *world) { w.killAt(p, productRecords) }})
		if p.way == working && p.freezes {
			all = append(all, ordeal{"frozen at " + p.name, func(w *world) { w.freezeAt(p.name, min(p.most, 2)) }})
		}
	}
	for _, kind := range []faultKind{cutBefore, cutAfter, cutLate} {
		all = append(all, ordeal{string(kind), func(w *world) { w.cutSome(kind) }})
	}
	all = append(all, ordeal{string(stall), func(w *world) { w.freezeInside() }})
	if c.Shape != cell.Direct {
		all = append(all, ordeal{"partition growth", func(w *world) { w.growUnderLoad(1) }})
	}
	return all
}

// Every fault in every cell, in an order that the seed decides; then all over again, with other choices,
// until SR_CHAOS_MINUTES have passed.
func TestChaosProduct(t *testing.T) {
	minutes, err := strconv.ParseFloat(cmp.Or(os.Getenv("SR_CHAOS_MINUTES"), "0"), 64)
	if err != nil {
		t.Fatalf("SR_CHAOS_MINUTES: %v", err)
	}
	end := time.Now().Add(time.Duration(minutes * float64(time.Minute)))
	for round := 1; round == 1 || time.Now().Before(end) && !t.Failed(); round++ {
		t.Run(fmt.Sprintf("round %d", round), func(t *testing.T) {
			for _, c := range append(cell.ExactlyOnce(), cell.Weaker()...) {
				t.Run(c.String(), func(t *testing.T) {
					t.Parallel()
					newWorld(t, c, setting{}).endure(ordeals(c))
				})
			}
		})
	}
}

// endure goes through all ordeals, and compares with the truth every now and then.
func (w *world) endure(all []ordeal) {
	w.t.Helper()
	w.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, o := range all {
		w.t.Logf("%d: %s", i+1, o.name)
		o.run(w)
		if w.rand.IntN(6) == 0 || i == len(all)-1 {
			w.settle(launch{})
		}
	}
}

func (w *world) freezeAt(point string, most int) {
	w.t.Helper()
	w.feed(productRecords / 2)
	frozen := w.start(launch{stopAt: fmt.Sprintf("%s:%d", point, 1+w.rand.IntN(most))})
	fed := w.feeding(productRecords / 2)
	w.feedUntil(func() bool { return !frozen.running() || frozen.stopped(point) })
	fed()
	frozen.freezesAt(point)
	w.outlives(frozen)
	tally.fault("frozen at " + point)
}

func (w *world) cutSome(kind faultKind) {
	w.t.Helper()
	p := newProxy(w)
	node := w.start(launch{postgres: p.through(w)})
	w.feed(500)
	w.moves(1)
	for range 3 {
		w.cutOnce(p, node, kind)
	}
	node.kill()
}

// dice makes a generator for a goroutine of its own.
func (w *world) dice() *rand.Rand { return rand.New(rand.NewPCG(w.rand.Uint64(), w.rand.Uint64())) }
