package storetest

import (
	"slices"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

func runCommit(t *testing.T, h Harness) {
	t.Run("moves everything of the row", func(t *testing.T) {
		f := newFixture(t, h)
		topic := runtime.TopicID(runtime.NewWriterID())
		_, err := f.step([]runtime.Input{buc0, src1}, func(c *protocol.Commit) { c.Moves[1].TopicID, c.Moves[1].Idle = topic, true })
		f.must(err)
		want := protocol.Progress{
			Input: src1, Owner: f.a, Epoch: 1, TxID: 1, Position: 10, TopicID: topic, LeaderEpoch: 3, Watermark: 7, Idle: true,
		}
		if got := f.row(src1); !equalProgress(got, want) {
			t.Errorf("the row is %+v, want %+v", got, want)
		}
		if got := f.row(src0); got.TxID != 0 {
			t.Errorf("an input that was not in the batch has txid %d", got.TxID)
		}
	})
	t.Run("asserts every row of progress", func(t *testing.T) { assertProgress(t, h) })
	t.Run("asserts the writer", func(t *testing.T) { assertWriter(t, h) })
	t.Run("asserts the decisions it relied on", func(t *testing.T) { assertDecisions(t, h) })
	t.Run("prunes applied from the table", func(t *testing.T) { pruneApplied(t, h) })
	t.Run("of nothing is possible", func(t *testing.T) {
		f := newFixture(t, h)
		_, err := f.Commit(f.ctx(), protocol.Commit{Container: f.a}, store.Writes{})
		f.must(err)
	})
	t.Run("of the same batch twice is lost the second time", func(t *testing.T) {
		f := newFixture(t, h)
		once := protocol.Commit{Container: f.a, Moves: []protocol.Move{{Input: src0, Epoch: 1, TxID: 1, Position: 5}}}
		_, err := f.Commit(f.ctx(), once, store.Writes{})
		f.must(err)
		f.unchanged("committing again", protocol.ErrLost, func() error {
			_, err := f.Commit(f.ctx(), once, store.Writes{})
			return err
		})
	})
}

func equalProgress(p, q protocol.Progress) bool {
	same := slices.Equal(p.Applied, q.Applied)
	p.Applied, q.Applied = nil, nil
	return same && p.Input == q.Input && p.Owner == q.Owner && p.Epoch == q.Epoch && p.NextOwner == q.NextOwner && p.NextReady == q.NextReady &&
		p.TxID == q.TxID && p.Position == q.Position && p.TopicID == q.TopicID && p.LeaderEpoch == q.LeaderEpoch &&
		p.Watermark == q.Watermark && p.Idle == q.Idle
}

func assertProgress(t *testing.T, h Harness) {
	for name, change := range map[string]func(f *fixture, c *protocol.Commit){
		"another container":         func(f *fixture, c *protocol.Commit) { c.Container = f.b },
		"no container":              func(f *fixture, c *protocol.Commit) { c.Container = runtime.Incarnation{} },
		"an older epoch":            func(_ *fixture, c *protocol.Commit) { c.Moves[1].Epoch-- },
		"a later epoch":             func(_ *fixture, c *protocol.Commit) { c.Moves[1].Epoch++ },
		"a txid that was committed": func(_ *fixture, c *protocol.Commit) { c.Moves[1].TxID-- },
		"a txid too far":            func(_ *fixture, c *protocol.Commit) { c.Moves[1].TxID++ },
		"an input without a row":    func(_ *fixture, c *protocol.Commit) { c.Moves[1].Input.Partition = 99 },
		"a move that is not planned": func(f *fixture, c *protocol.Commit) {
			c.Moves[1].GiveTo = f.b
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, h)
			f.unchanged(name, protocol.ErrLost, func() error {
				_, err := f.step([]runtime.Input{src0, src1}, func(c *protocol.Commit) { change(f, c) })
				return err
			})
		})
	}
}

func assertWriter(t *testing.T, h Harness) {
	f := newFixture(t, h)
	open, closed := f.writer(), f.writer()
	f.decide(open, 2)
	f.must(f.CloseWriter(f.ctx(), closed))
	for name, w := range map[string]protocol.WriterSeq{
		"a seq that was committed": {Writer: open, Seq: 2},
		"a seq too far":            {Writer: open, Seq: 4},
		"a closed writer":          {Writer: closed, Seq: 1},
		"an unknown writer":        {Writer: runtime.NewWriterID(), Seq: 1},
	} {
		f.unchanged(name, protocol.ErrLost, func() error {
			_, err := f.step([]runtime.Input{src0}, func(c *protocol.Commit) { c.Writer = w })
			return err
		})
		if got := f.state(open).Committed; got != 2 {
			t.Fatalf("%s: the writer has seq %d, want 2", name, got)
		}
	}
	_, err := f.step([]runtime.Input{src0}, func(c *protocol.Commit) { c.Writer = protocol.WriterSeq{Writer: open, Seq: 3} })
	f.must(err)
	if got := f.state(open).Committed; got != 3 || f.row(src0).TxID != 1 {
		t.Errorf("the writer has seq %d and the input txid %d, want 3 and 1", got, f.row(src0).TxID)
	}
}

func assertDecisions(t *testing.T, h Harness) {
	f := newFixture(t, h)
	open, closed, gone := f.writer(), f.writer(), runtime.NewWriterID()
	f.decide(open, 3)
	f.decide(closed, 3)
	f.must(f.CloseWriter(f.ctx(), closed))
	commit := func(relied, dropped []protocol.WriterSeq) error {
		_, err := f.step([]runtime.Input{buc0, buc1}, func(c *protocol.Commit) {
			c.Moves[0].Relied, c.Moves[1].Dropped = relied, dropped
			c.Moves[1].Relied = []protocol.WriterSeq{{Writer: open, Seq: 1}}
		})
		return err
	}
	for name, list := range map[string][2][]protocol.WriterSeq{
		"applied beyond what is decided": {{{Writer: open, Seq: 4}}, nil},
		"applied of a writer that is gone": {
			{{Writer: gone, Seq: 1}}, nil,
		},
		"dropped of an open writer": {nil, {{Writer: open, Seq: 4}}},
		"dropped what was decided":  {nil, {{Writer: closed, Seq: 3}}},
	} {
		f.unchanged(name, protocol.ErrLost, func() error { return commit(list[0], list[1]) })
	}
	f.must(commit(
		[]protocol.WriterSeq{{Writer: open, Seq: 3}, {Writer: closed, Seq: 2}},
		[]protocol.WriterSeq{{Writer: closed, Seq: 4}, {Writer: gone, Seq: 1}},
	))
}

// pruneApplied is rule ▲ Receiving 7.
func pruneApplied(t *testing.T, h Harness) {
	f := newFixture(t, h)
	kept, gone := f.writer(), runtime.NewWriterID()
	applied := protocol.Applied(nil).With(kept, 4).With(gone, 9)
	result, err := f.step([]runtime.Input{buc0, buc1}, func(c *protocol.Commit) {
		c.Moves[0].Applied, c.Moves[1].Applied = slices.Clone(applied), protocol.Applied(nil).With(gone, 2)
	})
	f.must(err)
	if !slices.Equal(result.Gone, []runtime.WriterID{gone}) {
		t.Errorf("gone are %v, want %v", result.Gone, gone)
	}
	if got := f.row(buc0).Applied; !slices.Equal(got, protocol.Applied{{Writer: kept, Seq: 4}}) {
		t.Errorf("applied is %v", got)
	}
	if got := f.row(buc1).Applied; len(got) != 0 {
		t.Errorf("applied of the second bucket is %v", got)
	}
}
