package protocol

import (
	"errors"
	"fmt"
	"testing"

	"github.com/selfregulating/sr/runtime"
)

// rule is one sentence of the protocol and a check that it holds. The mutants are tried on these
// checks and on the explorer.
type rule struct {
	sentence string
	holds    func() error
}

var rules = []rule{
	{"a fenced or unknown container opens no writer", func() error {
		rows := table()
		rows.Fence(life(0), nobody)
		return errors.Join(want("opening under a fenced container", rows.OpenWriter(life(0), "source", writerID(9)), ErrFenced),
			want("opening under an unknown one", rows.OpenWriter(life(2), "source", writerID(9)), ErrFenced))
	}},
	{"a commit as everybody believes is done, and moves what it says", func() error {
		rows := table()
		if _, err := rows.Commit(batch()); err != nil {
			return err
		}
		row, w := rows.Row(bucketInput(0)), rows.writer(writerID(1))
		if row.TxID != 5 || row.Position != 9 || w.Committed != 4 {
			return fmt.Errorf("row %+v, writer %+v", row, w)
		}
		return nil
	}},
	{"a commit of a container that is not the owner is lost", lost(func(rows *Rows, c *Commit) { c.Container = life(1) })},
	{"a commit of an older epoch is lost", lost(func(rows *Rows, c *Commit) { rows.Row(bucketInput(0)).Epoch++ })},
	{"a commit of a txid that was used is lost", lost(func(rows *Rows, c *Commit) { rows.Row(bucketInput(0)).TxID++ })},
	{"a commit of a txid too far is lost", lost(func(rows *Rows, c *Commit) { c.Moves[0].TxID++ })},
	{"a commit of an input without a row is lost", lost(func(rows *Rows, c *Commit) { c.Moves[0].Input = bucketInput(3) })},
	{"a commit under a closed writer is lost", lost(func(rows *Rows, c *Commit) { rows.CloseWriter(writerID(1)) })},
	{"a commit that skips a seq is lost", lost(func(rows *Rows, c *Commit) { c.Writer.Seq++ })},
	{"a commit under a writer without a row is lost", lost(func(rows *Rows, c *Commit) { c.Writer.Writer = writerID(7) })},
	{"a commit that gives to another than the planned owner is lost", lost(func(rows *Rows, c *Commit) { c.Moves[0].GiveTo = life(1) })},
	{"a commit that relied on an open decision is lost", lost(func(rows *Rows, c *Commit) { c.Moves[0].Relied[0].Seq++ })},
	{"a commit that relied on a writer without a row is lost", lost(func(rows *Rows, c *Commit) { c.Moves[0].Relied[0].Writer = writerID(7) })},
	{"a commit that dropped a block of an open writer is lost", lost(func(rows *Rows, c *Commit) { c.Moves[0].Dropped = []WriterSeq{{writerID(1), 9}} })},
	{"a commit that dropped a decided block is lost", lost(func(rows *Rows, c *Commit) { c.Moves[0].Dropped[0].Seq = 2 })},
	{"a commit may drop blocks of a writer that is gone", func() error {
		rows, c := table(), batch()
		c.Moves[0].Dropped[0].Writer = writerID(7)
		_, err := rows.Commit(c)
		return err
	}},
	{"a lost commit changes nothing", func() error {
		rows, c := table(), batch()
		c.Moves = append([]Move{{Input: sourceInput(0), Epoch: 2, TxID: 1, Position: 7}}, c.Moves...)
		c.Writer.Seq = 8
		_, err := rows.Commit(c)
		if row := rows.Row(sourceInput(0)); row.TxID != 0 || row.Position != 0 {
			return fmt.Errorf("the row moved: %+v", row)
		}
		return want("the commit", err, ErrLost)
	}},
	{"applied is pruned when, and only when, the writer's row is gone", func() error {
		rows, c := table(), batch()
		rows.ListClose(writerID(2), []CloseOffset{{bucketInput(0), 5}})
		c.Moves[0].Applied = append(c.Moves[0].Applied, WriterSeq{writerID(7), 1})
		res, err := rows.Commit(c)
		if err != nil {
			return err
		}
		if got := fmt.Sprint(rows.Row(bucketInput(0)).Applied, res.Gone); got != fmt.Sprint(Applied{{writerID(1), 3}, {writerID(2), 2}}, []runtime.WriterID{writerID(7)}) {
			return fmt.Errorf("applied and gone: %s", got)
		}
		return nil
	}},
	{"only the planned owner is given an input", func() error {
		rows := table()
		if err := want("giving without a plan", rows.Give(bucketInput(0), life(0), 2, life(1)), ErrLost); err != nil {
			return err
		}
		if err := rows.Plan(bucketInput(0), life(0), life(1)); err != nil {
			return err
		}
		if err := rows.Give(bucketInput(0), life(0), 2, life(1)); err != nil {
			return err
		}
		if row := rows.Row(bucketInput(0)); row.Owner != life(1) || row.Epoch != 3 || !row.NextOwner.IsZero() {
			return fmt.Errorf("after the handover: %+v", row)
		}
		return nil
	}},
	{"a second move is not planned over the first", func() error {
		rows := table()
		return errors.Join(rows.Plan(bucketInput(0), life(0), life(1)), want("planning again", rows.Plan(bucketInput(0), life(0), life(1)), ErrLost))
	}},
	{"no row is planned for or assigned to a fenced container", func() error {
		rows := table()
		rows.Fence(life(1), nobody)
		return errors.Join(want("planning", rows.Plan(bucketInput(0), life(0), life(1)), ErrFenced),
			want("assigning", rows.Assign(sourceInput(1), life(1)), ErrFenced))
	}},
	{"a row of a fenced container is assigned anew, a row of a living one is not", func() error {
		rows := table()
		rows.Row(bucketInput(0)).Owner = life(2) // as if its fence had missed this row
		if err := errors.Join(rows.Assign(bucketInput(0), life(1)), rows.Assign(sourceInput(0), life(1))); err != nil {
			return err
		}
		if b, s := rows.Row(bucketInput(0)), rows.Row(sourceInput(0)); b.Owner != life(1) || b.Epoch != 3 || s.Owner != life(0) {
			return fmt.Errorf("bucket %+v, source %+v", b, s)
		}
		return nil
	}},
	{"a fence takes the rows owned and the moves planned, and closes the writers", func() error {
		rows := table()
		if err := rows.Plan(bucketInput(0), life(0), life(1)); err != nil {
			return err
		}
		if err := rows.OpenWriter(life(1), "source", writerID(3)); err != nil {
			return err
		}
		rows.Fence(life(1), func(runtime.Input) runtime.Incarnation { return life(0) })
		planned, owned := rows.Row(bucketInput(0)), rows.Row(sourceInput(1))
		if !planned.NextOwner.IsZero() || planned.Epoch != 2 || owned.Owner != life(0) || owned.Epoch != 3 || !rows.writer(writerID(3)).Closed || rows.writer(writerID(1)).Closed {
			return fmt.Errorf("planned %+v, owned %+v, writers %+v", planned, owned, rows.Writers)
		}
		return nil
	}},
	{"a fence gives nothing to a container that is fenced itself", func() error {
		rows := table()
		rows.Fence(life(0), nobody)
		rows.Fence(life(1), func(runtime.Input) runtime.Incarnation { return life(0) })
		if row := rows.Row(sourceInput(1)); !row.Owner.IsZero() {
			return fmt.Errorf("the row went to a fenced container: %+v", row)
		}
		return nil
	}},
	{"close offsets are listed after the close", func() error {
		rows := table()
		rows.ListClose(writerID(1), []CloseOffset{{bucketInput(0), 0}})
		if rows.writer(writerID(1)).CloseOffsets != nil {
			return errors.New("an open writer has close offsets")
		}
		return nil
	}},
	{"a writer is deleted when every bucket is past its close offset, no sooner", func() error {
		rows := table()
		if gone := rows.DeleteWriters(); gone != nil {
			return fmt.Errorf("deleted without close offsets: %v", gone)
		}
		rows.ListClose(writerID(2), []CloseOffset{{bucketInput(0), 5}, {bucketInput(1), 1}})
		if gone := rows.DeleteWriters(); gone != nil {
			return fmt.Errorf("deleted before bucket 1 passed its close offset: %v", gone)
		}
		rows.Row(bucketInput(1)).Position = 1
		if gone := rows.DeleteWriters(); len(gone) != 1 || gone[0] != writerID(2) {
			return fmt.Errorf("deleted: %v", gone)
		}
		return nil
	}},
	{"a batch given up names its writer, to be closed, and goes on under another", func() error {
		p := Production{Container: life(0), Emits: true}
		p.Opened(writerID(1), 2)
		p.BeginMoves(nil, []int{0})
		if w, raise := p.Void(); w != writerID(1) || raise != nil || !p.Writer().IsZero() || p.Flights() != 0 {
			return fmt.Errorf("void says close %s, raise %v; writer now %s, flights %d", w, raise, p.Writer(), p.Flights())
		}
		return nil
	}},
	{"an unknown outcome closes the writer, or raises the epochs of a stage without one", func() error {
		with, without := Production{Emits: true}, Production{}
		with.Opened(writerID(1), 2)
		with.BeginMoves([]Move{{Input: bucketInput(0)}}, nil)
		without.BeginMoves([]Move{{Input: bucketInput(0)}, {Input: bucketInput(1)}}, nil)
		with.Lost()
		without.Lost()
		w, none := with.Void()
		zero, raise := without.Void()
		if w != writerID(1) || none != nil || !zero.IsZero() || len(raise) != 2 || with.Unknown() || without.Unknown() {
			return fmt.Errorf("with a writer: close %s, raise %v; without: close %s, raise %v", w, none, zero, raise)
		}
		return nil
	}},
	{"a snapshot says nothing behind a block that it was not asked about", func() error {
		r := NewReceiver(Progress{Input: bucketInput(0)})
		for o, b := range []Block{{Writer: writerID(2), Seq: 1}, {Writer: writerID(1), Seq: 1}, {Writer: writerID(2), Seq: 2, Prev: 1}} {
			b.Offset = int64(o)
			r.Arrive(b)
		}
		view := View{{writerID(2), 2, false}} // asked for when only the first block had been read
		apply, err := r.SettleAsked(view, 1)
		if err != nil || len(apply) != 1 || apply[0].Offset != 0 || len(r.Pending()) != 2 {
			return fmt.Errorf("applied %v, held %v, error: %w", apply, r.Pending(), err)
		}
		return nil
	}},
	{"a decided block that follows one never read stops the bucket", func() error {
		r := NewReceiver(Progress{Input: bucketInput(0)})
		r.Arrive(Block{Offset: 0, Writer: writerID(1), Seq: 2, Prev: 1})
		_, err := r.Settle(View{{writerID(1), 2, false}}, true)
		if gap := new(GapError); !errors.As(err, &gap) || gap.Prev != 1 || gap.Applied != 0 {
			return fmt.Errorf("settling gave: %w", err)
		}
		return nil
	}},
}

func want(what string, got, expected error) error {
	if !errors.Is(got, expected) {
		return fmt.Errorf("%s: got %w, not %w", what, got, expected)
	}
	return nil
}

// table is a small database: A owns source 0 and bucket 0, B source 1 and bucket 1; A's writer w1
// is open at seq 3, w2 closed at seq 2.
func table() *Rows {
	t := &Rows{}
	for i := range 2 {
		t.Register(life(i))
		t.AddInput(Progress{Input: sourceInput(i), Owner: life(i), Epoch: 2})
	}
	t.AddInput(Progress{Input: bucketInput(0), Owner: life(0), Epoch: 2, TxID: 4, Position: 5})
	t.AddInput(Progress{Input: bucketInput(1), Owner: life(1), Epoch: 2})
	t.Writers = []WriterRow{
		{Writer: writerID(1), Stage: "source", Container: life(0), Committed: 3},
		{Writer: writerID(2), Stage: "source", Container: life(0), Committed: 2, Closed: true},
	}
	return t
}

// batch is a commit of A that fits the table in every point.
func batch() Commit {
	return Commit{
		Container: life(0),
		Moves: []Move{{
			Input: bucketInput(0), Epoch: 2, TxID: 5, Position: 9,
			Applied: Applied{{writerID(1), 3}, {writerID(2), 2}},
			Relied:  []WriterSeq{{writerID(1), 3}}, Dropped: []WriterSeq{{writerID(2), 3}},
		}},
		Writer: WriterSeq{writerID(1), 4},
	}
}

// lost checks that the batch is lost, and nothing else, after one thing was changed.
func lost(change func(*Rows, *Commit)) func() error {
	return func() error {
		rows, c := table(), batch()
		change(rows, &c)
		_, err := rows.Commit(c)
		return want("the commit", err, ErrLost)
	}
}

func TestRulesHold(t *testing.T) {
	for _, r := range rules {
		t.Run(r.sentence, func(t *testing.T) {
			if err := r.holds(); err != nil {
				t.Error(err)
			}
		})
	}
}
