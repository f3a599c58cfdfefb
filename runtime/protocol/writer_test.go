package protocol

import (
	"slices"
	"testing"

	"github.com/selfregulating/sr/runtime"
)

func TestWriterStampsPrevByBucket(t *testing.T) {
	id := writerID(1)
	w := NewWriter(id, 3)
	for _, step := range []struct {
		outs []int
		want []Stamp
	}{
		{[]int{0, 2}, []Stamp{{0, id, 1, 0}, {2, id, 1, 0}}},
		{nil, nil},
		{[]int{0, 1}, []Stamp{{0, id, 3, 1}, {1, id, 3, 0}}},
		{[]int{0, 1, 2}, []Stamp{{0, id, 4, 3}, {1, id, 4, 3}, {2, id, 4, 1}}},
	} {
		if _, got := w.Begin(step.outs); !slices.Equal(got, step.want) {
			t.Errorf("blocks for %v: got %+v, want %+v", step.outs, got, step.want)
		}
	}
}

func TestBatchIsCommittedInOrderAndOnlyWhenAcknowledged(t *testing.T) {
	p := Production{Container: life(0), Emits: true}
	p.Opened(writerID(1), 2)
	first := p.BeginMoves([]Move{{Input: bucketInput(0)}}, []int{0, 1})
	second := p.BeginMoves([]Move{{Input: bucketInput(1)}}, nil)
	if p.Oldest() != nil || !second.Acked() {
		t.Fatal("a batch is offered before its blocks are acknowledged, or an empty one waits for acks")
	}
	p.Acked(first, 0)
	p.Acked(first, 0)
	if p.Oldest() != nil {
		t.Fatal("one ack of two is enough")
	}
	p.Acked(first, 1)
	if p.Oldest() != first || first.Commit.Writer.Seq != 1 || second.Commit.Writer.Seq != 2 {
		t.Fatalf("oldest is %+v", p.Oldest())
	}
	p.Lost()
	if p.Oldest() != nil {
		t.Error("a batch is offered while an outcome is unknown")
	}
	p.unknown = false
	p.Committed()
	if p.Oldest() != second || !p.Holds(bucketInput(1)) || p.Holds(bucketInput(0)) {
		t.Errorf("after the first commit the oldest is %+v", p.Oldest())
	}
}

func TestEmitterMovesEachPartitionOnByItself(t *testing.T) {
	e := NewEmitter(life(0), true)
	for i := range 2 {
		if !e.Take(Progress{Input: sourceInput(i), Owner: life(0), Epoch: 3, TxID: 7, Position: 100}) {
			t.Fatal("an own row is not taken")
		}
	}
	e.Opened(writerID(1), 2)
	e.Begin([]Cut{{Input: sourceInput(1), Position: 110}}, []int{0})
	f := e.Begin([]Cut{{Input: sourceInput(0), Position: 105}, {Input: sourceInput(1), Position: 120}}, nil)
	if m := f.Commit.Moves; m[0].TxID != 8 || m[0].Position != 105 || m[1].TxID != 9 || m[1].Position != 120 || m[1].Epoch != 3 {
		t.Errorf("moves %+v", m)
	}
}

func TestEmitterTakesNothingThatIsNotItsToTake(t *testing.T) {
	own := Progress{Input: sourceInput(0), Owner: life(0), Epoch: 4}
	e := NewEmitter(life(0), true)
	if e.Take(Progress{Input: sourceInput(0), Owner: life(1), Epoch: 4}) {
		t.Error("took a row of another container")
	}
	e.Take(own)
	e.Opened(writerID(1), 1)
	e.Begin([]Cut{{Input: sourceInput(0), Position: 1}}, nil)
	if e.Take(own) {
		t.Error("took a partition that a batch in flight holds")
	}
	e.Lost()
	if e.Take(Progress{Input: sourceInput(1), Owner: life(0)}) {
		t.Error("took a partition while an outcome is unknown")
	}
	if w, raise := e.Void(); w != writerID(1) || raise != nil || len(e.Owned()) != 0 {
		t.Errorf("void: close %s, raise %v, still owned %v", w, raise, e.Owned())
	}
	if !e.Take(own) {
		t.Error("does not take its partition again after the void")
	}
	e.Drop(own.Input)
	if len(e.Owned()) != 0 {
		t.Error("a partition given away is still owned")
	}
}

func TestABatchOfAForeignPartitionBreaksAnInvariant(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a batch began over a partition that is not owned")
		}
	}()
	e := NewEmitter(life(0), false)
	e.Begin([]Cut{{Input: runtime.Input{Operator: "x"}}}, nil)
}
