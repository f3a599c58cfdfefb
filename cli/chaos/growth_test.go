//go:build kafka

package chaos

import (
	"testing"

	"github.com/selfregulating/sr/cli/chaos/cell"
)

// A topic that grows under load is read on; where its partitions are the buckets of a state, growth
// stops the topology.
func TestChaosShortPartitionGrowth(t *testing.T) {
	for _, c := range []cell.Cell{overExchange, overChain} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c, setting{partitions: 2})
			w.growUnderLoad(3)
			w.settle(launch{})
		})
	}
	t.Run(overDirect.String(), func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, overDirect, setting{partitions: 2})
		w.feed(5_000)
		node := w.start(launch{})
		w.moves(1)
		w.grow(1)
		node.stopsWith("grew from 2 to 3 partitions")
		tally.fault("partition growth of buckets")
	})
}

func (w *world) growUnderLoad(by int) {
	w.t.Helper()
	node := w.start(launch{})
	fed := w.feeding(productRecords)
	w.moves(1)
	w.grow(by)
	fed()
	w.feed(productRecords)
	w.reaches(node, w.fed())
	node.kill()
	tally.fault("partition growth")
}
