package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
)

// worker is a container that has prepared everything and runs no loop.
func (c *container) worker() *worker {
	c.Helper()
	c.Config.defaults()
	w := &worker{Config: c.Config, self: store.Container{Name: "test", Incarnation: runtime.NewIncarnation()}, writers: map[runtime.WriterID]struct{}{}}
	c.must(w.Store.Register(context.Background(), w.self, w.Lease))
	c.must(w.prepare(context.Background()))
	c.Cleanup(func() {
		for _, g := range w.groups {
			for _, i := range g.instances {
				i.close()
			}
		}
	})
	return w
}

// writerStates are the rows of writers, by id.
func (r *rig) writerStates(ids ...runtime.WriterID) map[runtime.WriterID]protocol.WriterState {
	r.Helper()
	view, err := r.store.View(context.Background(), ids)
	r.must(err)
	states := map[runtime.WriterID]protocol.WriterState{}
	for _, s := range view {
		states[s.Writer] = s
	}
	return states
}

func TestCloseOffsetsAreListedOnlyAfterTheClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ctx := newRig(t, 1, wordCount(from(topology.Opaque))), context.Background()
		c := r.container()
		w := c.worker()
		id, err := w.openWriter(ctx, "in")
		r.must(err)
		last := func() {
			r.must(r.broker.Produce(ExchangeTopic(r.id, "counts"), 0, broker.Record{Value: []byte("a late block")}))
			r.must(r.store.CloseWriter(ctx, id))
		}
		c.around = func(op string, do func() error) error {
			err := do()
			if strings.HasPrefix(op, "unlisted") || strings.HasPrefix(op, "offsets") { // what is asked for first
				c.around = nil
				last()
			}
			return err
		}
		r.must(w.tidyWriters(ctx))
		r.must(w.tidyWriters(ctx))
		listed, ok := c.listed[id]
		if !ok || len(listed) != buckets {
			t.Fatalf("the close offsets of the writer are %+v, want one for each of %d buckets", listed, buckets)
		}
		if listed[0].Offset != 1 {
			t.Errorf("bucket 0 is listed to end at %d, but the writer's last block is at 0", listed[0].Offset)
		}
	})
}

func TestAnOpenWriterIsNotListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ctx := newRig(t, 1, wordCount(from(topology.Opaque))), context.Background()
		c := r.container()
		w := c.worker()
		_, err := w.openWriter(ctx, "in")
		r.must(err)
		r.must(w.tidyWriters(ctx))
		if len(c.listed) > 0 {
			t.Errorf("listed %+v", c.listed)
		}
	})
}

func TestWritersAreDeletedWhenNoBucketNeedsThemAndTheMarginIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		r.feed(20)
		first := r.catchUp()
		id := first.opened[0]
		closed := time.Now()
		c := r.container(func(c *Config) { c.TrimMargin = time.Minute }).start()
		r.feed(20)
		r.untilExact()
		time.Sleep(time.Until(closed.Add(55 * time.Second)))
		if _, there := r.writerStates(id)[id]; !there {
			t.Error("the writer is gone before its margin is over")
		}
		time.Sleep(20 * time.Second)
		if _, there := r.writerStates(id)[id]; there {
			t.Error("the writer is still there")
		}
		for _, row := range r.progress("counts") {
			if row.Applied.Seq(id) != 0 {
				t.Errorf("%s still remembers the writer", row.Input)
			}
		}
		used := c.opened[len(c.opened)-1]
		if s, there := r.writerStates(used)[used]; !there || s.Closed {
			t.Errorf("the writer in use is %+v", s)
		}
		r.feed(20)
		r.untilExact()
		r.must(c.drain())
	})
}

func TestAHeartbeatClosesAWriterThatNobodyUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		c := r.container()
		first := once()
		c.around = func(op string, do func() error) error {
			err := do()
			if op == "open writer in" && first() {
				return store.ErrUnreachable // it was opened, and nobody knows
			}
			return err
		}
		c.start()
		r.feed(10)
		r.untilExact()
		time.Sleep(c.Lease)
		stray, used := c.opened[0], c.opened[1]
		states := r.writerStates(stray, used)
		if !states[stray].Closed {
			t.Error("the stray writer is still open")
		}
		if states[used].Closed {
			t.Error("the writer in use was closed")
		}
		r.must(c.drain())
	})
}

func TestTrimmingKeepsTheMargin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ctx := newRig(t, 1, wordCount(from(topology.Opaque))), context.Background()
		const margin = 3 * time.Minute
		c := r.container(func(c *Config) { c.TrimMargin = margin }).start()
		resumed := map[time.Time]runtime.Offset{}
		for range 60 {
			r.feed(1)
			time.Sleep(10 * time.Second)
			resumed[time.Now()] = r.progress("counts")[0].Position
			offsets, err := r.broker.Offsets(ctx, ExchangeTopic(r.id, "counts"))
			r.must(err)
			for at, resume := range resumed {
				if age := time.Since(at); age < margin-10*time.Second && offsets[0].Start > resume {
					t.Fatalf("trimmed to %d; %s ago the resume offset was %d", offsets[0].Start, age, resume)
				}
			}
		}
		offsets, err := r.broker.Offsets(ctx, ExchangeTopic(r.id, "counts"))
		r.must(err)
		if offsets[0].Start == 0 {
			t.Error("nothing was trimmed in ten minutes")
		}
		r.wantExact()
		r.must(c.drain())
	})
}

func TestTrimmingNeverGoesBeyondTheRowsAsTheyAreNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, ctx := newRig(t, 1, wordCount(from(topology.Opaque))), context.Background()
		r.feed(100)
		r.catchUp()
		c := r.container()
		w := c.worker()
		now := map[int32]runtime.Offset{}
		ahead := map[int32]runtime.Offset{}
		for _, row := range r.progress("counts") {
			now[row.Input.Partition], ahead[row.Input.Partition] = row.Position, row.Position+1000
		}
		past := &trims{past: []resumes{{at: time.Now().Add(-2 * time.Hour), offsets: map[runtime.OperatorID]map[int32]runtime.Offset{"counts": ahead}}}}
		r.must(w.trim(ctx, past, time.Now())) // the database went back since those were read
		if len(c.trims) != 1 || !maps.Equal(c.trims[0], now) {
			t.Errorf("trimmed to %v, the rows are at %v", c.trims, now)
		}
	})
}

func TestWhatIsTrimmedIsOldOrMoreThanAnExchangeMayHold(t *testing.T) {
	begin := time.Now()
	moment := func(minutes int, bytes int64) resumes {
		return resumes{
			at: begin.Add(time.Duration(minutes) * time.Minute), bytes: map[runtime.OperatorID]int64{"x": bytes},
			offsets: map[runtime.OperatorID]map[int32]runtime.Offset{"x": {0: runtime.Offset(minutes)}},
		}
	}
	past := &trims{past: []resumes{moment(0, 0), moment(10, 100), moment(20, 200), moment(30, 300)}}
	for _, c := range []struct {
		name   string
		margin time.Duration
		keep   int64
		at     runtime.Offset
		less   bool
	}{
		{"older than the margin", 15 * time.Minute, 1000, 20, false},
		{"just as old as it", 20 * time.Minute, 1000, 20, false},
		{"all of them younger", time.Hour, 1000, -1, false},
		{"more bytes than may be kept", time.Hour, 250, 10, true},
		{"old, and more bytes", 25 * time.Minute, 150, 20, true},
	} {
		now := moment(40, 400)
		at, less := past.due("x", now, c.margin, c.keep)
		got := runtime.Offset(-1)
		if at != nil {
			got = at[0]
		}
		if got != c.at || less != c.less {
			t.Errorf("%s: trimmed to the offsets of minute %d, for their bytes %t; want %d, %t", c.name, got, less, c.at, c.less)
		}
	}
	past.forget(begin.Add(40*time.Minute), 15*time.Minute)
	if kept := fmt.Sprint(slices.Collect(func(yield func(runtime.Offset) bool) {
		for _, r := range past.past {
			yield(r.offsets["x"][0])
		}
	})); kept != "[20 30]" {
		t.Errorf("kept the moments %s, want the newest that is old enough and those after it", kept)
	}
}
