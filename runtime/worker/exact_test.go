package worker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/vitals"
)

func TestEveryShapeCountsExactlyAndResumes(t *testing.T) {
	for name, shape := range shapes {
		for kind := topology.Opaque; kind <= topology.AtMostOnce; kind++ {
			t.Run(fmt.Sprintf("%s, %s", name, kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, 3, shape(from(kind)))
					r.feed(200)
					r.catchUp()
					r.wantExact()
					r.catchUp() // nothing is read again
					r.wantExact()
					r.feed(100)
					c := r.container(func(c *Config) { c.BatchBytes = 500 }).start()
					r.untilExact()
					r.feed(50)
					r.untilExact()
					r.must(c.drain())
					r.wantExact()
				})
			})
		}
	}
}

func TestSeveralInstancesShareTheInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := topology.New("test")
		k := from(topology.Opaque)
		k.Parallelism = 2
		topology.PersistentAggregate(words(b, k), "counts", topology.StateConfig{Buckets: 8, Parallelism: 2}, topology.Count[string]("count"))
		r := newRig(t, 5, b)
		r.feed(300)
		c := r.catchUp()
		r.wantExact()
		for _, i := range c.Vitals.Instances() {
			if i.Records.Load() == 0 {
				t.Errorf("instance %d of %s read nothing", i.Index, i.Operator)
			}
		}
	})
}

func TestSpoutsStartWhereTheyAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		at   topology.StartAt
		want []string
	}{
		"earliest": {topology.AtEarliest, []string{"old", "middle", "new"}},
		"time":     {topology.AtTime, []string{"middle", "new"}},
		"latest":   {topology.AtLatest, []string{"new"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := from(topology.Opaque)
				k.Start = topology.Start{At: c.at, Time: time.Now().Add(time.Minute)}
				r := newRig(t, 1, wordCount(k))
				r.produce(0, "old")
				time.Sleep(time.Minute)
				r.produce(0, "middle")
				r.catchUp() // makes the rows: where to start is decided once
				r.produce(0, "new")
				r.catchUp()
				for _, w := range c.want {
					r.truth[w] = 1
				}
				r.wantExact()
			})
		})
	}
}

func TestKindsDecideWhatHappensBetweenOutputAndProgress(t *testing.T) {
	for kind, want := range map[topology.SpoutKind]int64{
		topology.Opaque: 1, topology.Transactional: 1, topology.AtLeastOnce: 2, topology.AtMostOnce: 0,
	} {
		for name, shape := range map[string]func(topology.Kafka) *topology.Builder{"exchange": wordCount, "direct": direct} {
			t.Run(fmt.Sprintf("%s, %s", kind, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, 1, shape(from(kind)))
					r.feedTo(0, "once")
					c := r.container()
					n := 0
					c.committing = func(a *attempt) error { // the second of two commits, or the only one, fails for good
						if a.stage == "counts" {
							return a.do()
						}
						last := map[topology.SpoutKind]int{topology.AtLeastOnce: 2, topology.AtMostOnce: 2}[kind]
						if n++; n >= last {
							return store.ErrFull
						}
						return a.do()
					}
					c.start().wantIs(store.ErrFull)
					r.catchUp()
					if got := r.column("counts", 0)["once"]; got != want {
						t.Errorf("the record counts %d times, want %d", got, want)
					}
				})
			})
		}
	}
}

func TestTxIDsGrowWithoutGapsAndPositionsNeverFall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, wordCount(from(topology.Opaque)))
		c := r.container(func(c *Config) { c.BatchBytes = 200 }).start()
		for range 5 {
			r.feed(100)
			time.Sleep(50 * time.Millisecond)
		}
		r.untilExact()
		r.must(c.drain())
		last := map[string]protocol.Move{}
		for _, commit := range c.commits {
			for _, m := range commit.Moves {
				if in := m.Input.String(); m.TxID != last[in].TxID+1 || m.Position < last[in].Position {
					t.Errorf("%s: txid %d at %d follows txid %d at %d", in, m.TxID, m.Position, last[in].TxID, last[in].Position)
				}
				last[m.Input.String()] = m
			}
		}
		if n := c.sum("in", func(i *vitals.Instance) int64 { return i.Reloads.Load() }); n != 0 {
			t.Errorf("%d reloads without a fault", n)
		}
	})
}
