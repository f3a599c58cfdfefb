//go:build kafka

package chaos

import (
	"math/rand/v2"
	"slices"

	"github.com/selfregulating/sr/cli/chaos/cell"
	"github.com/selfregulating/sr/runtime/topology"
)

// point is an arrow of the protocol at which a node is killed, and where it is found.
type point struct {
	name string
	in   func(cell.Cell) bool
	// most is how often a run surely passes it: the kill is at one of these times.
	most int
	// way is what a run needs to get there.
	way way
	// freezes tells that a node which is frozen there owns what another takes over.
	freezes bool
}

type way uint8

const (
	// working: there is something to read.
	working way = iota
	// entering: a container before it has died.
	entering
	// draining: the run ends by itself.
	draining
	// unknowing: the outcome of commits is unknown.
	unknowing
)

func anywhere(cell.Cell) bool     { return true }
func direct(c cell.Cell) bool     { return c.Shape == cell.Direct }
func exchanging(c cell.Cell) bool { return c.Shape != cell.Direct }
func chained(c cell.Cell) bool    { return c.Shape == cell.Chain }
func describing(c cell.Cell) bool { return c.Spout == topology.Transactional }

// points are all arrows, in the order in which a batch meets them.
var points = []point{
	{"registered", anywhere, 1, working, false},
	{"assigned", anywhere, 1, working, false},
	{"taking-over", anywhere, 1, entering, false},
	{"taken-over", anywhere, 1, entering, false},
	{"writer-opened", exchanging, 1, working, true},
	{"source-gathered", anywhere, 4, working, true},
	{"source-described", describing, 4, working, true},
	{"block-acked", exchanging, 30, working, true},
	{"blocks-sent", exchanging, 4, working, true},
	{"blocks-acked", exchanging, 4, working, true},
	{"source-committing", anywhere, 4, working, true},
	{"source-committed", anywhere, 4, working, true},
	{"source-output", func(c cell.Cell) bool { return c.Spout == topology.AtLeastOnce }, 4, working, true},
	{"source-unknown", anywhere, 1, unknowing, false},
	{"epochs-raised", direct, 1, unknowing, false},
	{"keyed-read", exchanging, 30, working, true},
	{"keyed-decided", exchanging, 3, working, true},
	{"keyed-merged", exchanging, 20, working, true},
	{"keyed-frozen", exchanging, 3, working, true},
	{"rows-read", chained, 3, working, true},
	{"keyed-computed", chained, 3, working, true},
	{"keyed-produced", chained, 2, working, true},
	{"keyed-committing", exchanging, 3, working, true},
	{"keyed-committed", exchanging, 2, working, true},
	{"keyed-unknown", exchanging, 1, unknowing, false},
	{"writer-closing", exchanging, 1, draining, false},
	{"writer-closed", exchanging, 1, draining, false},
	{"close-found", exchanging, 1, entering, false},
	{"close-listed", exchanging, 1, entering, false},
	{"writers-deleted", exchanging, 1, entering, false},
	{"trimmed", exchanging, 1, working, false},
}

// shared hands every point to one of the cells that have it, to each about as many.
func shared(cells []cell.Cell, r *rand.Rand) map[cell.Cell][]point {
	plan := map[cell.Cell][]point{}
	for _, i := range r.Perm(len(points)) {
		var have []cell.Cell
		for _, c := range cells {
			if points[i].in(c) {
				have = append(have, c)
			}
		}
		r.Shuffle(len(have), func(a, b int) { have[a], have[b] = have[b], have[a] })
		fewest := slices.MinFunc(have, func(a, b cell.Cell) int { return len(plan[a]) - len(plan[b]) })
		plan[fewest] = append(plan[fewest], points[i])
	}
	return plan
}
