package protocol

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/selfregulating/sr/runtime"
)

// hold returns a receiver that has read the blocks, from offset 0 on.
func hold(blocks ...Block) *Receiver {
	r := NewReceiver(Progress{Input: bucketInput(0), Epoch: 2, TxID: 4, Applied: Applied{{writerID(9), 5}}})
	for o, b := range blocks {
		b.Offset = int64(o)
		r.Arrive(b)
	}
	return &r
}

func TestReceiverDecidesEachBlock(t *testing.T) {
	w1, w2, w9 := writerID(1), writerID(2), writerID(9)
	for _, c := range []struct {
		name   string
		blocks []Block
		view   View
		fresh  bool
		apply  []int64
		held   []int64
		counts Counts
	}{
		{"a block at or below applied is skipped", []Block{{Writer: w9, Seq: 5}, {Writer: w9, Seq: 2}}, nil, false, nil, nil, Counts{Duplicate: 2}},
		{"an undecided block is held", []Block{{Writer: w1, Seq: 1}}, View{{w1, 0, false}}, true, nil, []int64{0}, Counts{}},
		{"a decided block is applied", []Block{{Writer: w1, Seq: 1}}, View{{w1, 1, false}}, false, []int64{0}, nil, Counts{}},
		{"a decided block of a closed writer is applied", []Block{{Writer: w1, Seq: 1}}, View{{w1, 1, true}}, false, []int64{0}, nil, Counts{}},
		{"a block that its closed writer did not commit is garbage", []Block{{Writer: w1, Seq: 2}}, View{{w1, 1, true}}, false, nil, nil, Counts{Garbage: 1}},
		{"a second copy of a block is a duplicate once the first is applied", []Block{{Writer: w1, Seq: 1}, {Writer: w1, Seq: 1}}, View{{w1, 1, false}}, false, []int64{0}, nil, Counts{Duplicate: 1}},
		{"an unknown writer is gone if the view is fresh", []Block{{Writer: w1, Seq: 1}}, nil, true, nil, nil, Counts{Orphaned: 1}},
		{"an unknown writer is waited for if the view is not fresh", []Block{{Writer: w1, Seq: 1}}, nil, false, nil, []int64{0}, Counts{}},
		{"other writers go on past a held block", []Block{{Writer: w1, Seq: 1}, {Writer: w2, Seq: 1}}, View{{w1, 0, false}, {w2, 1, false}}, true, []int64{1}, []int64{0}, Counts{}},
		{"nobody goes on past a block that the view is too old for", []Block{{Writer: w1, Seq: 1}, {Writer: w2, Seq: 1}}, View{{w2, 1, false}}, false, nil, []int64{0, 1}, Counts{}},
		{"blocks of one writer follow each other", []Block{{Writer: w9, Seq: 7, Prev: 5}, {Writer: w9, Seq: 8, Prev: 7}}, View{{w9, 8, false}}, false, []int64{0, 1}, nil, Counts{}},
		{"held and garbage blocks are not checked for gaps", []Block{{Writer: w1, Seq: 7, Prev: 6}, {Writer: w2, Seq: 9, Prev: 8}}, View{{w1, 3, false}, {w2, 3, true}}, false, nil, []int64{0}, Counts{Garbage: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := hold(c.blocks...)
			apply, err := r.Settle(c.view, c.fresh)
			if err != nil {
				t.Fatal(err)
			}
			if got := offsets(apply); !slices.Equal(got, c.apply) {
				t.Errorf("applied %v, want %v", got, c.apply)
			}
			if got := offsets(r.Pending()); !slices.Equal(got, c.held) {
				t.Errorf("held %v, want %v", got, c.held)
			}
			if r.Counts != c.counts {
				t.Errorf("counted %+v, want %+v", r.Counts, c.counts)
			}
		})
	}
}

func offsets(blocks []Block) (o []int64) {
	for _, b := range blocks {
		o = append(o, b.Offset)
	}
	return o
}

func TestReceiverStopsAtAGapAndNamesIt(t *testing.T) {
	r := hold(Block{Writer: writerID(1), Seq: 1}, Block{Writer: writerID(1), Seq: 4, Prev: 3}, Block{Writer: writerID(1), Seq: 5, Prev: 4})
	apply, err := r.Settle(View{{writerID(1), 5, false}}, true)
	var gap *GapError
	if !errors.As(err, &gap) || gap.Offset != 1 || gap.Seq != 4 || gap.Prev != 3 || gap.Applied != 1 {
		t.Fatalf("got %v", err)
	}
	if fmt.Sprint(offsets(apply), offsets(r.Pending())) != "[0] [1 2]" {
		t.Errorf("applied %v, held %v", offsets(apply), offsets(r.Pending()))
	}
}

func TestPositionStaysAtTheFirstHeldBlock(t *testing.T) {
	r := hold(Block{Writer: writerID(1), Seq: 1}, Block{Writer: writerID(2), Seq: 1}, Block{Writer: writerID(3), Seq: 1})
	r.Skip(7) // a transaction marker, say
	settle := func(v View) {
		t.Helper()
		if _, err := r.Settle(v, false); err != nil {
			t.Fatal(err)
		}
	}
	settle(View{{writerID(1), 1, false}, {writerID(2), 0, false}, {writerID(3), 1, false}})
	if r.Position() != 1 {
		t.Errorf("the second block is held, position %d", r.Position())
	}
	settle(View{{writerID(2), 0, true}})
	if r.Position() != 7 {
		t.Errorf("nothing is held, position %d, read %d", r.Position(), r.Read)
	}
}

func TestFrozenBatchIsNotTouchedByWhatArrivesMeanwhile(t *testing.T) {
	w1, w2 := writerID(1), writerID(2)
	r := hold(Block{Writer: w1, Seq: 1}, Block{Writer: w2, Seq: 3})
	if _, err := r.Settle(View{{w1, 1, false}, {w2, 2, true}}, true); err != nil {
		t.Fatal(err)
	}
	first := r.Freeze()
	r.Arrive(Block{Offset: 2, Writer: w1, Seq: 2, Prev: 1})
	r.Arrive(Block{Offset: 3, Writer: w2, Seq: 2, Prev: 0})
	if _, err := r.Settle(View{{w1, 2, false}, {w2, 2, true}}, true); err != nil {
		t.Fatal(err)
	}
	wantMove(t, first, Move{
		TxID: 5, Position: 2, Applied: Applied{{w1, 1}, {writerID(9), 5}}, Relied: []WriterSeq{{w1, 1}}, Dropped: []WriterSeq{{w2, 3}},
	})
	r.Committed(nil)
	if r.Resume != 2 || !r.Moved() || r.Flying() {
		t.Errorf("after the commit: resume %d, more to commit %v, flying %v", r.Resume, r.Moved(), r.Flying())
	}
	wantMove(t, r.Freeze(), Move{
		TxID: 6, Position: 4, Applied: Applied{{w1, 2}, {w2, 2}, {writerID(9), 5}}, Relied: []WriterSeq{{w1, 2}, {w2, 2}},
	})
	r.Committed(nil)
	if r.Moved() {
		t.Error("everything is committed, but there is more to commit")
	}
}

func wantMove(t *testing.T, got, want Move) {
	t.Helper()
	want.Input, want.Epoch = bucketInput(0), 2
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("move\n%+v, want\n%+v", got, want)
	}
}

func TestPrunedWritersLeaveApplied(t *testing.T) {
	r := hold()
	r.Freeze()
	r.Committed([]runtime.WriterID{writerID(9)})
	r.Arrive(Block{Offset: 0, Writer: writerID(9), Seq: 5})
	if len(r.Pending()) != 1 {
		t.Fatal("a writer that is gone is still in applied")
	}
	if apply, err := r.Settle(nil, true); len(apply) != 0 || err != nil || r.Counts.Orphaned != 1 {
		t.Errorf("applied %v, error %v, counted %+v", apply, err, r.Counts)
	}
}

func TestTwoCommitsOfOneBucketBreakAnInvariant(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a second commit began before the first had ended")
		}
	}()
	r := hold()
	r.Freeze()
	r.Freeze()
}

func TestCloneSharesNothing(t *testing.T) {
	w1 := writerID(1)
	r := hold(Block{Writer: w1, Seq: 1}, Block{Writer: writerID(2), Seq: 1})
	c := r.Clone()
	if _, err := c.Settle(View{{w1, 1, false}, {writerID(2), 0, true}}, true); err != nil {
		t.Fatal(err)
	}
	if len(r.Pending()) != 2 || r.applied.Seq(w1) != 0 || r.Pending()[0].Writer != w1 {
		t.Errorf("settling the clone changed the original: %+v", r)
	}
}
