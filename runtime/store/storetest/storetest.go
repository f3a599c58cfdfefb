// Package storetest is the conformance suite of stores: every assertion of a commit, containers and
// their leases, fences, writers, inputs, descriptors, dead letters, the folds of all kinds and types,
// and random histories compared step by step with protocol.Rows. The Postgres store and its memory
// twin both run all of it.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// Subject is a store under test: the interface of the worker, and the moves of the controller.
type Subject interface {
	store.Store
	Plan(ctx context.Context, in runtime.Input, from, to runtime.Incarnation) error
	Ready(ctx context.Context, in runtime.Input, next runtime.Incarnation) error
	Give(ctx context.Context, in runtime.Input, owner runtime.Incarnation, epoch runtime.Epoch, to runtime.Incarnation) error
}

// Harness is how the suite gets at a store.
type Harness struct {
	// Open makes an empty store with the state tables given.
	Open func(t *testing.T, tables ...*state.Table) Subject
	// Letters reads all dead letters, ordered by input, txid and number.
	Letters func(t *testing.T, s Subject) []store.DeadLetter
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	for name, group := range map[string]func(*testing.T, Harness){
		"commit":     runCommit,
		"containers": runContainers,
		"writers":    runWriters,
		"inputs":     runInputs,
		"moving":     runMoving,
		"folds":      runFolds,
		"rows":       runRows,
		"letters":    runLetters,
		"random":     runRandom,
	} {
		t.Run(name, func(t *testing.T) { group(t, h) })
	}
}

// fixture is a store with two living containers and four inputs that a owns, epoch 1, txid 0.
type fixture struct {
	Subject
	t    *testing.T
	h    Harness
	a, b runtime.Incarnation
}

var (
	src0, src1 = runtime.Input{Operator: "lines", Partition: 0}, runtime.Input{Operator: "lines", Partition: 1}
	buc0, buc1 = runtime.Input{Operator: "counts", Partition: 0}, runtime.Input{Operator: "counts", Partition: 1}
	inputs     = []runtime.Input{buc0, buc1, src0, src1} // in order
	operators  = []runtime.OperatorID{"counts", "lines"}
)

const lease = time.Minute

func newFixture(t *testing.T, h Harness, tables ...*state.Table) *fixture {
	t.Helper()
	f := &fixture{Subject: h.Open(t, tables...), t: t, h: h, a: runtime.NewIncarnation(), b: runtime.NewIncarnation()}
	f.must(f.Register(f.ctx(), store.Container{Name: "a", Incarnation: f.a}, lease))
	f.must(f.Register(f.ctx(), store.Container{Name: "b", Incarnation: f.b}, lease))
	var rows []protocol.Progress
	for _, in := range inputs {
		rows = append(rows, protocol.Progress{Input: in})
	}
	f.must(f.AddInputs(f.ctx(), rows))
	for _, o := range operators {
		f.must(f.Assign(f.ctx(), f.a, o))
	}
	return f
}

func (f *fixture) ctx() context.Context { return f.t.Context() }

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// refused checks that a call answered with one error and no other.
func (f *fixture) refused(doing string, want, got error) {
	f.t.Helper()
	if !errors.Is(got, want) {
		f.t.Fatalf("%s: got %v, want %v", doing, got, want)
	}
}

func (f *fixture) row(in runtime.Input) protocol.Progress {
	f.t.Helper()
	rows, err := f.Load(f.ctx(), in.Operator)
	f.must(err)
	for _, p := range rows {
		if p.Input == in {
			return p
		}
	}
	f.t.Fatalf("there is no row of %s", in)
	return protocol.Progress{}
}

func (f *fixture) writer() runtime.WriterID {
	f.t.Helper()
	id := runtime.NewWriterID()
	f.must(f.OpenWriter(f.ctx(), f.a, "words", id))
	return id
}

func (f *fixture) state(id runtime.WriterID) protocol.WriterState {
	f.t.Helper()
	view, err := f.View(f.ctx(), []runtime.WriterID{id})
	f.must(err)
	w, known := view.Find(id)
	if !known {
		f.t.Fatalf("writer %s is unknown", id)
	}
	return w
}

// decide moves writer id to seq, in commits that hold nothing else.
func (f *fixture) decide(id runtime.WriterID, seq runtime.Seq) {
	f.t.Helper()
	for s := f.state(id).Committed + 1; s <= seq; s++ {
		_, err := f.Commit(f.ctx(), protocol.Commit{Container: f.a, Writer: protocol.WriterSeq{Writer: id, Seq: s}}, store.Writes{})
		f.must(err)
	}
}

// step is the commit of the next batch of inputs by a, moved by change.
func (f *fixture) step(ins []runtime.Input, change func(*protocol.Commit)) (protocol.Result, error) {
	f.t.Helper()
	c := protocol.Commit{Container: f.a}
	for _, in := range ins {
		row := f.row(in)
		m := protocol.Move{Input: in, Epoch: row.Epoch, TxID: row.TxID + 1, Position: row.Position + 10, LeaderEpoch: 3, Watermark: 7}
		if in.Operator == "counts" {
			m.Applied = row.Applied
			if m.Applied == nil {
				m.Applied = protocol.Applied{}
			}
		}
		c.Moves = append(c.Moves, m)
	}
	if change != nil {
		change(&c)
	}
	return f.Commit(f.ctx(), c, store.Writes{})
}

// unchanged runs do, which must answer want and leave every row as it was.
func (f *fixture) unchanged(doing string, want error, do func() error) {
	f.t.Helper()
	before := f.everything()
	f.refused(doing, want, do())
	if after := f.everything(); after != before {
		f.t.Fatalf("%s: it was refused, but changed\n%s\nto\n%s", doing, before, after)
	}
}

func (f *fixture) everything() string {
	f.t.Helper()
	text := ""
	for _, o := range operators {
		rows, err := f.Load(f.ctx(), o)
		f.must(err)
		descriptors, err := f.Descriptors(f.ctx(), o)
		f.must(err)
		text += fmt.Sprintf("%+v %+v\n", rows, descriptors)
	}
	return text
}
