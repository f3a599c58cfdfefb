package storetest

import (
	"slices"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

func runInputs(t *testing.T, h Harness) {
	t.Run("adding one that exists changes nothing", func(t *testing.T) {
		f := newFixture(t, h)
		before := f.everything()
		f.must(f.AddInputs(f.ctx(), []protocol.Progress{{Input: src0, Position: 500, Owner: f.b}}))
		if after := f.everything(); after != before {
			t.Errorf("it changed\n%s\nto\n%s", before, after)
		}
	})
	t.Run("a new one belongs to nobody until it is assigned", func(t *testing.T) {
		f := newFixture(t, h)
		in := runtime.Input{Operator: "lines", Partition: 2}
		f.must(f.AddInputs(f.ctx(), []protocol.Progress{{Input: in, Position: 500, Owner: f.a, Watermark: -5, Idle: true, LeaderEpoch: 4}}))
		if got, want := f.row(in), (protocol.Progress{Input: in, Position: 500, Watermark: -5, Idle: true, LeaderEpoch: 4}); !equalProgress(got, want) {
			t.Errorf("the row is %+v, want %+v", got, want)
		}
		f.must(f.Assign(f.ctx(), f.b, "lines"))
		if row := f.row(in); row.Owner != f.b || row.Epoch != 1 {
			t.Errorf("assigned to b the row is %+v", row)
		}
		if row := f.row(src0); row.Owner != f.a || row.Epoch != 1 {
			t.Errorf("the row that a owned is %+v", row)
		}
	})
	t.Run("a raised epoch voids the commit in flight", func(t *testing.T) {
		f := newFixture(t, h)
		f.must(f.RaiseEpochs(f.ctx(), f.b, []runtime.Input{src0})) // not the owner
		f.must(f.RaiseEpochs(f.ctx(), f.a, []runtime.Input{src1}))
		if f.row(src0).Epoch != 1 || f.row(src1).Epoch != 2 {
			t.Errorf("the epochs are %d and %d, want 1 and 2", f.row(src0).Epoch, f.row(src1).Epoch)
		}
		late := protocol.Commit{Container: f.a, Moves: []protocol.Move{{Input: src1, Epoch: 1, TxID: 1}}}
		f.unchanged("the late commit", protocol.ErrLost, func() error {
			_, err := f.Commit(f.ctx(), late, store.Writes{})
			return err
		})
	})
	t.Run("descriptors", func(t *testing.T) { describe(t, h) })
}

func describe(t *testing.T, h Harness) {
	f := newFixture(t, h)
	d := func(in runtime.Input, txid runtime.TxID, to runtime.Offset) protocol.Descriptor {
		return protocol.Descriptor{Input: in, TxID: txid, From: 1, To: to, Count: to - 1, TopicID: runtime.TopicID(f.b), LeaderEpoch: 2}
	}
	open := func(want ...protocol.Descriptor) {
		t.Helper()
		if got, err := f.Descriptors(f.ctx(), "lines"); err != nil || !slices.Equal(got, want) {
			t.Fatalf("open are %+v, %v, want %+v", got, err, want)
		}
	}
	f.must(f.Describe(f.ctx(), f.a, []runtime.Epoch{1, 1, 1}, []protocol.Descriptor{d(src0, 1, 5), d(src1, 1, 6), d(src0, 2, 9)}))
	f.must(f.Describe(f.ctx(), f.a, []runtime.Epoch{1}, []protocol.Descriptor{d(src0, 2, 8)})) // another attempt
	open(d(src0, 1, 5), d(src0, 2, 8), d(src1, 1, 6))
	f.unchanged("describing by another", protocol.ErrLost, func() error {
		return f.Describe(f.ctx(), f.b, []runtime.Epoch{1}, []protocol.Descriptor{d(src0, 3, 9)})
	})
	f.unchanged("describing at another epoch", protocol.ErrLost, func() error {
		return f.Describe(f.ctx(), f.a, []runtime.Epoch{1, 2}, []protocol.Descriptor{d(src0, 3, 9), d(src1, 2, 9)})
	})
	for _, ins := range [][]runtime.Input{{src0}, {src1}} {
		_, err := f.step(ins, nil)
		f.must(err)
	}
	open(d(src0, 2, 8))
	_, err := f.step([]runtime.Input{src0}, nil)
	f.must(err)
	open()
}

func runMoving(t *testing.T, h Harness) {
	t.Run("an input is planned, loaded and given away", func(t *testing.T) {
		f := newFixture(t, h)
		f.must(f.Plan(f.ctx(), buc0, f.a, f.b))
		f.unchanged("planning it again", protocol.ErrLost, func() error { return f.Plan(f.ctx(), buc0, f.a, f.b) })
		f.must(f.Ready(f.ctx(), buc0, f.a)) // not the next owner
		if f.row(buc0).NextReady {
			t.Error("it is ready because another said so")
		}
		f.must(f.Ready(f.ctx(), buc0, f.b))
		if row := f.row(buc0); !row.NextReady || row.NextOwner != f.b || row.Owner != f.a {
			t.Errorf("the row is %+v", row)
		}
		f.unchanged("giving it to another", protocol.ErrLost, func() error { return f.Give(f.ctx(), buc0, f.a, 1, f.a) })
		f.unchanged("giving it at another epoch", protocol.ErrLost, func() error { return f.Give(f.ctx(), buc0, f.a, 2, f.b) })
		f.must(f.Give(f.ctx(), buc0, f.a, 1, f.b))
		if row := f.row(buc0); row.Owner != f.b || row.Epoch != 2 || !row.NextOwner.IsZero() || row.NextReady || row.TxID != 0 {
			t.Errorf("the row is %+v", row)
		}
	})
	t.Run("planning asks for the owner", func(t *testing.T) {
		f := newFixture(t, h)
		f.unchanged("planning for b", protocol.ErrLost, func() error { return f.Plan(f.ctx(), buc0, f.b, f.a) })
	})
	t.Run("a commit gives it away together with its batch", func(t *testing.T) {
		f := newFixture(t, h)
		f.must(f.Plan(f.ctx(), buc0, f.a, f.b))
		f.must(f.Ready(f.ctx(), buc0, f.b))
		_, err := f.step([]runtime.Input{buc0, buc1}, func(c *protocol.Commit) { c.Moves[0].GiveTo = f.b })
		f.must(err)
		if row := f.row(buc0); row.Owner != f.b || row.Epoch != 2 || !row.NextOwner.IsZero() || row.NextReady || row.TxID != 1 || row.Position != 10 {
			t.Errorf("the row is %+v", row)
		}
		if row := f.row(buc1); row.Owner != f.a || row.Epoch != 1 || row.TxID != 1 {
			t.Errorf("the row that stays is %+v", row)
		}
	})
	t.Run("a commit without the move keeps the plan", func(t *testing.T) {
		f := newFixture(t, h)
		f.must(f.Plan(f.ctx(), buc0, f.a, f.b))
		f.must(f.Ready(f.ctx(), buc0, f.b))
		_, err := f.step([]runtime.Input{buc0}, nil)
		f.must(err)
		if row := f.row(buc0); row.NextOwner != f.b || !row.NextReady {
			t.Errorf("the row is %+v", row)
		}
	})
}
