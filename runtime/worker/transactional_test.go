package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
)

func TestDescriptorsStandBeforeTheFirstBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, wordCount(from(topology.Transactional)))
		r.feed(50)
		c := r.catchUp()
		steps := c.did("describe", "append", "commit in")
		if steps[0] != "describe" || !slices.Contains(steps, "append counts") {
			t.Errorf("the first steps are %v", steps)
		}
		if left := r.descriptors(); len(left) > 0 {
			t.Errorf("descriptors of committed batches are left: %+v", left)
		}
		if c := r.opaqueSteps(); slices.Contains(c, "describe") {
			t.Errorf("an opaque spout describes its batches: %v", c)
		}
	})
}

func (r *rig) opaqueSteps() []string {
	other := newRig(r.T, 1, wordCount(from(topology.Opaque)))
	other.feed(5)
	return other.catchUp().did("describe")
}

func (r *rig) descriptors() []protocol.Descriptor {
	r.Helper()
	ds, err := r.store.Descriptors(context.Background(), "in")
	r.must(err)
	return ds
}

// crash runs a container whose first batch is described and produced, and never committed.
func (r *rig) crash(change ...func(*Config)) []protocol.Descriptor {
	r.Helper()
	c := r.container(change...)
	c.committing = func(a *attempt) error {
		if a.stage == "in" {
			return store.ErrFull
		}
		return a.do()
	}
	c.start().wantIs(store.ErrFull)
	ds := r.descriptors()
	if len(ds) == 0 {
		r.Fatal("the batch left no descriptor")
	}
	return ds
}

func TestAReplayHoldsExactlyWhatWasRecorded(t *testing.T) {
	for name, shape := range shapes {
		for _, batchBytes := range []int{0, 300} {
			t.Run(fmt.Sprintf("%s, batches of %d bytes", name, batchBytes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, 3, shape(from(topology.Transactional)))
					r.feed(3000)
					ds := r.crash(func(c *Config) { c.BatchBytes = batchBytes })
					r.feed(300)
					c := r.container(func(c *Config) { c.BatchBytes = 50 })
					c.fetchBytes = 3000 // the replay is larger than a batch would be now, and takes several fetches
					r.must(c.catchUp())
					r.wantExact()
					for i, commit := range c.moves("in")[:len(ds)] {
						wantReplay(t, commit, ds[i])
						if batchBytes > 0 && i == 0 && commit.Moves[0].Position >= 1000 {
							t.Error("the batch was not cut for being full")
						}
					}
				})
			})
		}
	}
}

func wantReplay(t *testing.T, c protocol.Commit, d protocol.Descriptor) {
	t.Helper()
	for i, m := range c.Moves {
		switch {
		case i > 0 && m.Position > 0: // an idle one may be there
			t.Errorf("%s moves to %d beside the replay of %s, want one descriptor at a time", m.Input, m.Position, d.Input)
		case i == 0 && (m.Input != d.Input || m.TxID != d.TxID || m.Position != d.To):
			t.Errorf("%s is replayed with txid %d to offset %d; recorded are %s, txid %d and %d", m.Input, m.TxID, m.Position, d.Input, d.TxID, d.To)
		}
	}
}

func TestALeftoverDescriptorIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Transactional)))
		r.feed(10)
		r.catchUp()
		holder := store.Container{Name: "x", Incarnation: runtime.NewIncarnation()}
		r.must(r.store.Register(context.Background(), holder, 1))
		r.must(r.store.Assign(context.Background(), holder.Incarnation, "in"))
		row := r.progress("in")[0]
		leftover := protocol.Descriptor{Input: row.Input, TxID: row.TxID, From: 0, To: 10, Count: 10}
		r.must(r.store.Describe(context.Background(), holder.Incarnation, []runtime.Epoch{row.Epoch}, []protocol.Descriptor{leftover}))
		r.feed(10)
		r.catchUp()
		r.wantExact()
	})
}

func TestAReplayOverFewerRecordsStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, wordCount(from(topology.Transactional)))
		r.feed(20)
		d := r.crash()[0]
		r.must(r.broker.Compact(sentences, d.Input.Partition, func(rec broker.Record) bool { return rec.Offset != 4 }))
		short := wantError[*ShortReplayError](r.container().start())
		if short.Input != d.Input || short.TxID != d.TxID || short.Want != 10 || short.Got != 9 || short.From != d.From || short.To != d.To {
			t.Errorf("got %+v for %+v", short, d)
		}
	})
}

func TestAReplayWhoseRecordsAreGoneStopsWhateverThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := from(topology.Transactional)
		k.OutOfRange = topology.RangePolicy{Skip: true}
		r := newRig(t, 1, wordCount(k))
		r.feed(20)
		r.crash()
		r.must(r.broker.Trim(context.Background(), sentences, map[int32]runtime.Offset{0: 5}))
		if lost := wantError[*RangeError](r.container().start()); lost.Input.Operator != "in" {
			t.Errorf("the error is %+v", lost)
		}
	})
}

func TestABatchThatFailsIsReplayedAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Transactional)))
		r.feed(20)
		c := r.container()
		fails, failing, fed := once(), make(chan struct{}), make(chan struct{})
		c.around = func(op string, do func() error) error {
			if op == "append counts" && fails() {
				close(failing)
				<-fed
				return broker.ErrUnreachable
			}
			return do()
		}
		c.start()
		<-failing
		r.feed(20) // the next attempt finds more
		close(fed)
		r.untilExact()
		r.must(c.drain())
		first := c.moves("in")[0].Moves[0]
		if first.TxID != 1 || first.Position != 20 {
			t.Errorf("the first commit is of txid %d to offset %d, want 1 and 20", first.TxID, first.Position)
		}
		if n := strings.Count(strings.Join(c.did("describe"), " "), "describe"); n != 2 {
			t.Errorf("%d batches were described, want 2: a replay keeps its descriptor", n)
		}
	})
}
