package protocol

import (
	"slices"
	"testing"

	"github.com/selfregulating/sr/runtime"
)

func TestAppliedKeepsTheLastSeqOfEachWriterInOrder(t *testing.T) {
	var a Applied
	for _, s := range []WriterSeq{{writerID(3), 1}, {writerID(1), 4}, {writerID(2), 2}, {writerID(3), 5}} {
		a = a.With(s.Writer, s.Seq)
	}
	if want := (Applied{{writerID(1), 4}, {writerID(2), 2}, {writerID(3), 5}}); !slices.Equal(a, want) {
		t.Fatalf("got %v, want %v", a, want)
	}
	if a.Seq(writerID(3)) != 5 || a.Seq(writerID(9)) != 0 {
		t.Errorf("seq of w3 is %d, of an unknown writer %d", a.Seq(writerID(3)), a.Seq(writerID(9)))
	}
	a = a.Without(writerID(2)).Without(writerID(9))
	if want := (Applied{{writerID(1), 4}, {writerID(3), 5}}); !slices.Equal(a, want) {
		t.Errorf("without w2: got %v, want %v", a, want)
	}
}

func TestViewFindsWhatItHolds(t *testing.T) {
	v := View{{writerID(1), 4, false}, {writerID(2), 2, true}}
	if s, known := v.Find(writerID(2)); !known || s.Committed != 2 || !s.Closed {
		t.Errorf("w2 is %+v, known %v", s, known)
	}
	if _, known := v.Without(writerID(1)).Find(writerID(1)); known {
		t.Error("a writer is still there after Without")
	}
}

func TestDecisionsAskForHeldAndCachedWritersAndAreOneSnapshot(t *testing.T) {
	var d Decisions
	d.Adopt(View{{writerID(2), 1, false}})
	r := hold(Block{Writer: writerID(3), Seq: 1}, Block{Writer: writerID(1), Seq: 1})
	if got, want := d.Wanted([]*Receiver{r}), []runtime.WriterID{writerID(1), writerID(2), writerID(3)}; !slices.Equal(got, want) {
		t.Errorf("wanted %v, want %v", got, want)
	}
	d.Arrived(writerID(2))
	if len(d.View()) != 1 {
		t.Error("a block of a known writer dropped the snapshot")
	}
	d.Arrived(writerID(3))
	if len(d.View()) != 0 {
		t.Error("a block of a writer that the snapshot lacks left it in use")
	}
	d.Adopt(View{{writerID(2), 1, false}, {writerID(3), 1, true}})
	d.Pruned([]runtime.WriterID{writerID(3)})
	if _, known := d.View().Find(writerID(3)); known || len(d.View()) != 1 {
		t.Errorf("after pruning w3: %v", d.View())
	}
	d.Forget()
	if len(d.View()) != 0 {
		t.Error("Forget left decisions behind")
	}
}
