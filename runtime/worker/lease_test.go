package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/vitals"
)

func second(c *Config) { c.Name = "second" }

func TestASecondRunIsRefusedWhileTheFirstRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		first := r.container().start()
		time.Sleep(5 * time.Second)
		began := time.Now()
		held := wantError[*HeldError](r.container(second).start())
		if held.Holder.Name != "first" || held.Topology != r.id || held.Holder.LeaseLeft <= 0 {
			t.Errorf("the error names %+v", held)
		}
		if took := time.Since(began); took > first.Lease {
			t.Errorf("it took %s to refuse, longer than a lease", took)
		}
		r.feed(10)
		r.untilExact()
		r.must(first.drain())
	})
}

func TestTwoRunsThatStartTogetherDoNotBothRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		a, b := r.container().start(), r.container(second).start()
		var held *HeldError
		select {
		case err := <-a.ended:
			if !errors.As(err, &held) {
				t.Errorf("the first ended with %v", err)
			}
			a = b
		case err := <-b.ended:
			if !errors.As(err, &held) {
				t.Errorf("the second ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("both run")
		}
		r.feed(10)
		r.untilExact()
		r.must(a.drain())
	})
}

func TestASilentContainerIsTakenOverAndDoesNoHarmWhenItWakes(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 2, shape(from(topology.Opaque)))
				first := r.container().start()
				r.feed(20)
				r.untilExact()
				wake := make(chan struct{})
				var late []error
				first.set(func() { // it hangs in a commit, and its heartbeats do not arrive
					first.around = func(op string, do func() error) error {
						if op == "heartbeat" && !isClosed(wake) {
							return store.ErrUnreachable
						}
						return do()
					}
					first.committing = func(a *attempt) error {
						<-wake
						err := a.do()
						first.mu.Lock()
						late = append(late, err)
						first.mu.Unlock()
						return err
					}
				})
				r.feed(20)
				time.Sleep(100 * time.Millisecond)
				began := time.Now()
				next := r.container(second).start()
				r.untilExact()
				if took := time.Since(began); took > first.Lease+200*time.Millisecond {
					t.Errorf("the takeover took %s of a lease of %s", took, first.Lease)
				}
				close(wake)
				first.wantIs(protocol.ErrFenced)
				if len(late) == 0 {
					t.Error("no commit was under way when the first fell silent")
				}
				for _, err := range late {
					if !errors.Is(err, protocol.ErrLost) {
						t.Errorf("a commit of the fenced container ended with %v, want ErrLost", err)
					}
				}
				r.feed(20)
				r.untilExact()
				time.Sleep(3 * time.Second)
				r.must(next.drain())
				r.wantExact()
			})
		})
	}
}

func TestIdleInputsCommitOnceALease(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 3, shape(from(topology.Opaque)))
				c := r.container().start()
				for range 100 { // one partition has input, which does not keep the others from committing
					r.feedTo(0, "busy")
					time.Sleep(100 * time.Millisecond)
				}
				r.must(c.drain())
				if r.chained() {
					r.truth = r.column("newest", 1) // how often a value changed is not looked at here
				}
				ops := []runtime.OperatorID{"in"}
				for _, s := range r.plan.Stages[1:] {
					ops = append(ops, s.Operator)
				}
				for _, op := range ops {
					often := 0
					for _, row := range r.progress(op) {
						if row.TxID < 8 {
							t.Errorf("%s was committed %d times in ten leases", row.Input, row.TxID)
						}
						if row.TxID > 20 {
							often++
						}
					}
					if often > 1 {
						t.Errorf("%d inputs of %s were committed far more often than once a lease; one has input", often, op)
					}
				}
			})
		})
	}
}

func TestAnIdleOwnerNoticesThatItsEpochIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		c := r.container().start()
		time.Sleep(3 * time.Second)
		for _, op := range []runtime.OperatorID{"in", "counts"} {
			reloads := func() int64 { return c.sum(op, func(i *vitals.Instance) int64 { return i.Reloads.Load() }) }
			before := reloads()
			r.must(r.store.RaiseEpochs(context.Background(), r.holders()[0].Incarnation, []runtime.Input{{Operator: op}}))
			r.until(string(op)+" reads its rows again", func() bool { return reloads() > before })
		}
		r.feed(10)
		r.untilExact()
		r.must(c.drain())
	})
}

func TestATopologyWithoutInputIsCaughtUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, chain(from(topology.Opaque)))
		began := time.Now()
		r.catchUp()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestDrainingCommitsWhatWasGathered(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 2, shape(from(topology.Opaque)))
				c := r.container(func(c *Config) { c.Freshness = time.Hour }).start()
				r.feed(20)
				r.until("all is gathered", func() bool { return c.sum("in", func(i *vitals.Instance) int64 { return i.Records.Load() }) == 20 })
				if len(r.column("counts", 0)) > 0 {
					t.Fatal("the batch was cut before the drain")
				}
				r.must(c.drain())
				r.wantExact()
				if left := r.holders(); len(left) > 0 {
					t.Errorf("the container is still registered: %+v", left)
				}
				r.feed(5)
				began := time.Now()
				r.catchUp()
				r.wantExact()
				if took := time.Since(began); took > 500*time.Millisecond {
					t.Errorf("the next run waited %s for a container that has left", took)
				}
			})
		})
	}
}

func TestAFailedRunLeavesTooAndGivesItsInputsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, direct(from(topology.Opaque)))
		r.feed(1)
		c := r.container()
		c.committing = func(*attempt) error { return store.ErrNoPermission }
		c.start().wantIs(store.ErrNoPermission)
		if left := r.holders(); len(left) > 0 {
			t.Errorf("the container is still registered: %+v", left)
		}
	})
}
