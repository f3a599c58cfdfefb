package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
)

func runWriters(t *testing.T, h Harness) {
	t.Run("a view holds those asked for that exist", func(t *testing.T) {
		f := newFixture(t, h)
		one, two := f.writer(), f.writer()
		f.decide(two, 2)
		f.must(f.CloseWriter(f.ctx(), two))
		view, err := f.View(f.ctx(), []runtime.WriterID{two, runtime.NewWriterID()})
		f.must(err)
		if want := (protocol.View{{Writer: two, Committed: 2, Closed: true}}); !slices.Equal(view, want) {
			t.Errorf("the view is %+v, want %+v", view, want)
		}
		if f.state(one).Closed || f.state(one).Committed != 0 {
			t.Errorf("a fresh writer is %+v", f.state(one))
		}
		if view, err := f.View(f.ctx(), nil); err != nil || len(view) != 0 {
			t.Errorf("the view of none is %v, %v", view, err)
		}
	})
	t.Run("closing one that is closed or gone is nothing", func(t *testing.T) {
		f := newFixture(t, h)
		w := f.writer()
		for range 2 {
			f.must(f.CloseWriter(f.ctx(), w))
		}
		f.must(f.CloseWriter(f.ctx(), runtime.NewWriterID()))
	})
	t.Run("a row goes when every bucket has passed its close offsets", deletePassed(h))
}

// deletePassed is rules ▲ Writing 7 and 8.
func deletePassed(h Harness) func(*testing.T) {
	return func(t *testing.T) {
		f := newFixture(t, h)
		w, open := f.writer(), f.writer()
		offsets := []protocol.CloseOffset{{Input: buc0, Offset: 10}, {Input: buc1, Offset: 20}}
		f.must(f.ListClose(f.ctx(), []runtime.WriterID{w, open}, offsets)) // neither is closed yet
		f.must(f.CloseWriter(f.ctx(), w))
		unlisted := func(want ...runtime.WriterID) {
			t.Helper()
			if got, err := f.Unlisted(f.ctx(), "words"); err != nil || !slices.Equal(got, want) {
				t.Fatalf("unlisted are %v, %v, want %v", got, err, want)
			}
		}
		remaining := func(doing string, margin time.Duration, want int) {
			t.Helper()
			if n, err := f.DeleteWriters(f.ctx(), margin); err != nil || n != want {
				t.Fatalf("%s: deleted %d, %v, want %d", doing, n, err, want)
			}
		}
		unlisted(w)
		if got, err := f.Unlisted(f.ctx(), "other"); err != nil || len(got) != 0 {
			t.Errorf("unlisted of another stage are %v, %v", got, err)
		}
		remaining("closed without offsets", 0, 0)
		f.must(f.ListClose(f.ctx(), []runtime.WriterID{w, open}, offsets))
		f.must(f.ListClose(f.ctx(), []runtime.WriterID{w}, nil)) // the first list stands
		unlisted()
		remaining("no bucket has passed", 0, 0)
		advance := func(ins ...runtime.Input) {
			_, err := f.step(ins, nil)
			f.must(err)
		}
		advance(buc0, buc1)
		remaining("one bucket has passed", 0, 0)
		advance(buc1)
		remaining("both have, but not the margin", time.Hour, 0)
		remaining("all has passed", 0, 1)
		if view, err := f.View(f.ctx(), []runtime.WriterID{w, open}); err != nil || len(view) != 1 || view[0].Writer != open {
			t.Errorf("left are %v, %v", view, err)
		}
	}
}
