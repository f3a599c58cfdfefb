package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

// runRandom runs one random history on the store and on protocol.Rows: after every call the answers
// and all rows must be the same.
func runRandom(t *testing.T, h Harness) {
	const seed = 7
	w := &walk{fixture: newFixture(t, h), random: rand.New(rand.NewPCG(seed, seed))}
	w.model.Register(w.a)
	w.model.Register(w.b)
	w.containers = []runtime.Incarnation{w.a, w.b}
	for _, in := range inputs {
		w.model.AddInput(protocol.Progress{Input: in})
		w.must(w.model.Assign(in, w.a))
	}
	steps := 800
	if testing.Short() {
		steps = 200
	}
	for n := range steps {
		doing := w.call()
		if got, want := w.everything(), w.modelText(); got != want {
			t.Fatalf("seed %d, step %d, after %s the rows are\n%s\nwant\n%s", seed, n, doing, got, want)
		}
		w.compareWriters(doing)
	}
	t.Logf("refused by both: %d of %d calls", w.refusals, steps)
}

type walk struct {
	*fixture
	random     *rand.Rand
	model      protocol.Rows
	containers []runtime.Incarnation
	writers    []runtime.WriterID
	refusals   int
}

func pick[T any](w *walk, list []T) T { return list[w.random.IntN(len(list))] }

// call makes one random call on both sides and compares the answers.
func (w *walk) call() string {
	ctx, c, in := w.ctx(), pick(w, w.containers), pick(w, inputs)
	switch n := w.random.IntN(100); {
	case n < 50:
		return w.commit()
	case n < 58:
		id := runtime.NewWriterID()
		w.writers = append(w.writers, id)
		return w.same("opening a writer", w.OpenWriter(ctx, c, "words", id), w.model.OpenWriter(c, "words", id))
	case n < 62 && len(w.writers) > 0:
		id := pick(w, w.writers)
		w.model.CloseWriter(id)
		return w.same("closing a writer", w.CloseWriter(ctx, id), nil)
	case n < 66:
		return w.fence(c)
	case n < 74:
		return w.assign(in.Operator, c)
	case n < 80:
		from := w.row(in).Owner
		return w.same("planning", w.Plan(ctx, in, from, c), w.model.Plan(in, from, c))
	case n < 82:
		w.model.Ready(in, c)
		return w.same("getting ready", w.Ready(ctx, in, c), nil)
	case n < 86:
		row := w.row(in)
		to := row.NextOwner
		if to.IsZero() {
			to = c
		}
		return w.same("giving", w.Give(ctx, in, row.Owner, row.Epoch, to), w.model.Give(in, row.Owner, row.Epoch, to))
	case n < 88:
		w.model.RaiseEpochs(c, inputs)
		return w.same("raising epochs", w.RaiseEpochs(ctx, c, inputs), nil)
	case n < 92:
		return w.describe(pick(w, []runtime.Input{src0, src1}))
	case n < 96:
		return w.heartbeat(c)
	}
	return w.deleteWriters()
}

func (w *walk) same(doing string, got, want error) string {
	w.t.Helper()
	for _, kind := range []error{protocol.ErrLost, protocol.ErrFenced} {
		if errors.Is(got, kind) != errors.Is(want, kind) {
			w.t.Fatalf("%s: got %v, want %v", doing, got, want)
		}
	}
	if (got == nil) != (want == nil) {
		w.t.Fatalf("%s: got %v, want %v", doing, got, want)
	}
	if got != nil {
		w.refusals++
	}
	return doing
}

func (w *walk) fence(c runtime.Incarnation) string {
	to := runtime.NewIncarnation() // its successor, as after a restart
	w.must(w.Register(w.ctx(), store.Container{Name: "next", Incarnation: to}, lease))
	w.model.Register(to)
	w.containers = append(w.containers, to)
	w.model.Fence(c, func(runtime.Input) runtime.Incarnation { return to })
	if len(w.containers) > 4 {
		w.containers = w.containers[1:]
	}
	return w.same("fencing", w.Fence(w.ctx(), c, to), nil)
}

func (w *walk) assign(o runtime.OperatorID, c runtime.Incarnation) string {
	var want error
	for _, in := range inputs {
		if in.Operator == o {
			want = errors.Join(want, w.model.Assign(in, c))
		}
	}
	return w.same("assigning", w.Assign(w.ctx(), c, o), want)
}

func (w *walk) heartbeat(c runtime.Incarnation) string {
	used := w.writers[:w.random.IntN(len(w.writers)+1)]
	var want error
	if slices.Contains(w.model.Containers, protocol.ContainerRow{Incarnation: c}) {
		w.model.CloseStray(c, used)
	} else {
		want = protocol.ErrFenced
	}
	return w.same("a heartbeat", w.Heartbeat(w.ctx(), c, lease, used), want)
}

func (w *walk) describe(in runtime.Input) string {
	row := w.row(in)
	epoch := row.Epoch + runtime.Epoch(w.random.IntN(5)/4)
	d := protocol.Descriptor{Input: in, TxID: row.TxID + runtime.TxID(w.random.IntN(3)), From: row.Position, To: row.Position + 5, Count: 5}
	got := w.Describe(w.ctx(), row.Owner, []runtime.Epoch{epoch}, []protocol.Descriptor{d})
	return w.same("describing", got, w.model.Describe(row.Owner, []runtime.Epoch{epoch}, []protocol.Descriptor{d}))
}

func (w *walk) deleteWriters() string {
	ids, err := w.Unlisted(w.ctx(), "words")
	w.must(err)
	offsets := []protocol.CloseOffset{{Input: buc0, Offset: w.row(buc0).Position + w.random.Int64N(3)}, {Input: buc1, Offset: w.row(buc1).Position}}
	w.must(w.ListClose(w.ctx(), ids, offsets))
	for _, id := range ids {
		w.model.ListClose(id, offsets)
	}
	n, err := w.DeleteWriters(w.ctx(), 0)
	w.must(err)
	if gone := w.model.DeleteWriters(); len(gone) != n {
		w.t.Fatalf("deleted %d writers, want %d", n, len(gone))
	}
	return "deleting writers"
}

// commit moves some inputs, mostly rightly.
func (w *walk) commit() string {
	c := protocol.Commit{}
	for _, in := range inputs {
		row := w.row(in)
		if c.Container.IsZero() {
			c.Container = row.Owner
		}
		if w.random.IntN(2) == 0 || row.Owner != c.Container && w.rarely() == 0 {
			continue
		}
		c.Moves = append(c.Moves, w.move(row))
	}
	if c.Container.IsZero() {
		c.Container = pick(w, w.containers)
	}
	if len(w.writers) > 0 && w.random.IntN(3) == 0 {
		id := pick(w, w.writers)
		s, _ := w.model.View().Find(id)
		c.Writer = protocol.WriterSeq{Writer: id, Seq: s.Committed + 1 + w.rarely()}
	}
	got, err := w.Commit(w.ctx(), c, store.Writes{})
	want, wantErr := w.model.Commit(c)
	doing := w.same(fmt.Sprintf("commit %+v", c), err, wantErr)
	if err == nil && !sameIDs(got.Gone, want.Gone) {
		w.t.Fatalf("%s: gone are %v, want %v", doing, got.Gone, want.Gone)
	}
	return doing
}

// rarely is 1 in one of thirty calls, else 0.
func (w *walk) rarely() runtime.Seq { return runtime.Seq(w.random.IntN(30) / 29) }

func (w *walk) move(row protocol.Progress) protocol.Move {
	m := protocol.Move{
		Input: row.Input, Epoch: row.Epoch + runtime.Epoch(w.rarely()), TxID: row.TxID + 1 + runtime.TxID(w.rarely()),
		Position: row.Position + w.random.Int64N(3), LeaderEpoch: w.random.Int32N(3), Watermark: w.random.Int64N(100), Idle: w.random.IntN(2) == 0,
	}
	if w.random.IntN(3) > 0 {
		m.GiveTo = row.NextOwner
	}
	if row.Input.Operator != "counts" {
		return m
	}
	m.Applied = append(protocol.Applied{}, row.Applied...)
	for range w.random.IntN(3) {
		if len(w.writers) == 0 {
			break
		}
		id := pick(w, w.writers)
		s, known := w.model.View().Find(id)
		switch {
		case w.random.IntN(2) == 0 && (known || w.rarely() == 1):
			seq := s.Committed + w.rarely()
			m.Applied = m.Applied.With(id, seq)
			m.Relied = append(m.Relied, protocol.WriterSeq{Writer: id, Seq: seq})
		case s.Closed || !known || w.rarely() == 1:
			m.Dropped = append(m.Dropped, protocol.WriterSeq{Writer: id, Seq: s.Committed + 1 - w.rarely()})
		}
	}
	return m
}

func sameIDs(a, b []runtime.WriterID) bool {
	order := func(x, y runtime.WriterID) int { return bytes.Compare(x[:], y[:]) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order))
}

func (w *walk) modelText() (text string) {
	for _, o := range operators {
		var rows []protocol.Progress
		for _, p := range w.model.Progress {
			if p.Input.Operator == o {
				rows = append(rows, p)
			}
		}
		var descriptors []protocol.Descriptor
		for _, d := range w.model.Descriptors {
			if d.Input.Operator == o {
				descriptors = append(descriptors, d)
			}
		}
		text += fmt.Sprintf("%+v %+v\n", rows, descriptors)
	}
	return text
}

func (w *walk) compareWriters(doing string) {
	w.t.Helper()
	got, err := w.View(w.ctx(), w.writers)
	w.must(err)
	if want := w.model.View(); !slices.Equal(got, want) {
		w.t.Fatalf("after %s the writers are\n%+v, want\n%+v", doing, got, want)
	}
}
