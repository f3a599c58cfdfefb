package storetest

import (
	"testing"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

func runContainers(t *testing.T, h Harness) {
	t.Run("holders tell heartbeats and what is left of the lease", func(t *testing.T) {
		f := newFixture(t, h)
		f.must(f.Heartbeat(f.ctx(), f.b, 2*time.Hour, nil))
		holders, err := f.Holders(f.ctx(), f.a)
		f.must(err)
		if len(holders) != 1 || holders[0].Name != "b" || holders[0].Incarnation != f.b || holders[0].Renewed != 1 {
			t.Fatalf("the holders beside a are %+v", holders)
		}
		if left := holders[0].LeaseLeft; left <= time.Hour || left > 2*time.Hour {
			t.Errorf("left of the lease are %s", left)
		}
	})
	t.Run("an expired lease is negative", func(t *testing.T) {
		f := newFixture(t, h)
		f.must(f.Heartbeat(f.ctx(), f.b, -time.Hour, nil))
		holders, err := f.Holders(f.ctx(), f.a)
		f.must(err)
		if holders[0].LeaseLeft >= 0 {
			t.Errorf("left of the lease are %s", holders[0].LeaseLeft)
		}
	})
	t.Run("a heartbeat closes the writers not in use", heartbeatCloses(h))
	t.Run("a fence takes all that the container owned", fenceTakes(h))
	t.Run("a fence gives nothing to a fenced container", func(t *testing.T) {
		f := newFixture(t, h)
		f.must(f.Fence(f.ctx(), f.b, runtime.Incarnation{}))
		f.unchanged("fencing a for b", protocol.ErrFenced, func() error { return f.Fence(f.ctx(), f.a, f.b) })
		f.must(f.Heartbeat(f.ctx(), f.a, lease, nil))
	})
	t.Run("a fence twice is a fence", func(t *testing.T) {
		f := newFixture(t, h)
		f.must(f.Fence(f.ctx(), f.a, f.b))
		before := f.everything()
		f.must(f.Fence(f.ctx(), f.a, f.b))
		if after := f.everything(); after != before {
			t.Errorf("the second changed\n%s\nto\n%s", before, after)
		}
	})
	t.Run("an unregistered container leaves its inputs free", func(t *testing.T) {
		f := newFixture(t, h)
		w := f.writer()
		f.must(f.Unregister(f.ctx(), f.a))
		if row := f.row(src0); !row.Owner.IsZero() || row.Epoch != 2 {
			t.Errorf("the row is %+v", row)
		}
		if !f.state(w).Closed {
			t.Error("its writer is open")
		}
		f.must(f.Assign(f.ctx(), f.b, "lines"))
		if row := f.row(src0); row.Owner != f.b || row.Epoch != 3 {
			t.Errorf("after it was assigned again the row is %+v", row)
		}
	})
}

// heartbeatCloses is rule ▲ Writing 6.
func heartbeatCloses(h Harness) func(*testing.T) {
	return func(t *testing.T) {
		f := newFixture(t, h)
		used, stray, others := f.writer(), f.writer(), runtime.NewWriterID()
		f.must(f.OpenWriter(f.ctx(), f.b, "words", others))
		f.must(f.Heartbeat(f.ctx(), f.a, lease, []runtime.WriterID{used}))
		if f.state(used).Closed || !f.state(stray).Closed || f.state(others).Closed {
			t.Errorf("closed are: in use %v, stray %v, another's %v", f.state(used).Closed, f.state(stray).Closed, f.state(others).Closed)
		}
		f.must(f.Heartbeat(f.ctx(), f.a, lease, nil))
		if !f.state(used).Closed {
			t.Error("with none in use a writer stays open")
		}
	}
}

func fenceTakes(h Harness) func(*testing.T) {
	return func(t *testing.T) {
		f := newFixture(t, h)
		c := runtime.NewIncarnation()
		f.must(f.Register(f.ctx(), store.Container{Name: "c", Incarnation: c}, lease))
		w := f.writer()
		f.must(f.Plan(f.ctx(), buc0, f.a, f.b)) // a loses what it was to give
		f.must(f.Fence(f.ctx(), f.b, c))        // and b what it was to get
		if row := f.row(buc0); row.Owner != f.a || row.Epoch != 1 || !row.NextOwner.IsZero() {
			t.Errorf("the row whose next owner was fenced is %+v", row)
		}
		f.must(f.Plan(f.ctx(), buc1, f.a, c))
		f.must(f.Ready(f.ctx(), buc1, c))
		f.must(f.Fence(f.ctx(), f.a, c))
		for _, in := range inputs {
			if row := f.row(in); row.Owner != c || row.Epoch != 2 || !row.NextOwner.IsZero() || row.NextReady {
				t.Errorf("the row of %s is %+v", in, row)
			}
		}
		if !f.state(w).Closed {
			t.Error("its writer is open")
		}
		f.refused("its heartbeat", protocol.ErrFenced, f.Heartbeat(f.ctx(), f.a, lease, nil))
		f.refused("its writer", protocol.ErrFenced, f.OpenWriter(f.ctx(), f.a, "words", runtime.NewWriterID()))
		f.refused("its assignment", protocol.ErrFenced, f.Assign(f.ctx(), f.a, "lines"))
		f.refused("a move to it", protocol.ErrFenced, f.Plan(f.ctx(), buc0, c, f.a))
		if holders, err := f.Holders(f.ctx(), c); err != nil || len(holders) != 0 {
			t.Errorf("holders beside c are %+v, %v", holders, err)
		}
	}
}
