//go:build kafka

package chaos

import (
	"context"
	"testing"

	"github.com/selfregulating/sr/cli/chaos/cell"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/topology"
)

// Records are deleted under an open batch. A transactional spout cannot replay it, and says so.
func TestChaosShortDeletedUnderAnOpenBatch(t *testing.T) {
	t.Run("transactional stops", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, cell.Cell{Spout: topology.Transactional, State: state.Auto, Shape: cell.Exchange}, setting{})
		w.feed(5_000)
		w.start(launch{crashAt: "blocks-acked:2"}).crashesAt("blocks-acked")
		w.deleteRecords()
		w.start(launch{args: []string{"--skip"}}).stopsWith("records between were deleted before they were read")
		tally.fault("DeleteRecords under an open batch, transactional")
	})
	// The opaque one stops as well, unless its policy is to go on: then what was deleted is missing, and
	// nothing else.
	t.Run("opaque goes on by policy", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, cell.Cell{Spout: topology.Opaque, State: state.Auto, Shape: cell.Exchange}, setting{})
		w.feed(5_000)
		w.start(launch{crashAt: "blocks-acked:2"}).crashesAt("blocks-acked")
		w.deleteRecords()
		w.feed(5_000)
		w.start(launch{}).stopsWith("records between were deleted before they were read")
		w.settle(launch{args: []string{"--skip"}})
		tally.fault("DeleteRecords under an open batch, opaque")
	})
}

// A replay that finds fewer records than were recorded is an error of its own.
func TestChaosShortReplayThatCompactionHasShortened(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cell.Cell{Spout: topology.Transactional, State: state.Auto, Shape: cell.Exchange}, setting{partitions: 1, topic: compacting})
	w.noise(200)
	w.start(launch{crashAt: "source-described"}).crashesAt("source-described")
	w.compacted()
	w.start(launch{}).stopsWith("a transactional spout must replay the same tuples")
	tally.fault("compaction under an open batch")
}

// deleteRecords deletes all that is there; those that were not counted before never will be.
func (w *world) deleteRecords() {
	w.t.Helper()
	ctx := context.Background()
	ends, err := w.adm.ListEndOffsets(ctx, w.topic)
	must(w.t, err)
	answers, err := w.adm.DeleteRecords(ctx, ends.Offsets())
	must(w.t, err)
	must(w.t, answers.Error())
	w.forgotten = append([]int64{}, w.next...)
}
