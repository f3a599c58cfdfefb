package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/vitals"
)

// fate is what becomes of one commit. late, if set, is called as the operator reads its rows again.
type fate struct {
	name   string
	answer func(*attempt) error
	late   func(*rig, *attempt)
}

var fates = []fate{
	{name: "is lost", answer: func(*attempt) error { return protocol.ErrLost }},
	{name: "has an unknown outcome and never happened", answer: func(*attempt) error { return protocol.ErrUnknown }},
	{name: "has an unknown outcome and happened", answer: func(a *attempt) error {
		_ = a.do()
		return protocol.ErrUnknown
	}},
	{
		name:   "has an unknown outcome and comes after the restart",
		answer: func(*attempt) error { return protocol.ErrUnknown },
		late: func(r *rig, a *attempt) {
			if err := a.do(); !errors.Is(err, protocol.ErrLost) {
				r.Errorf("the late commit of %s answers %v after the restart, want ErrLost", a.stage, err)
			}
		},
	},
}

// TestOneCommitMeetsItsFate lets the n-th commit fail, for every n, in every shape.
func TestOneCommitMeetsItsFate(t *testing.T) {
	for name, shape := range shapes {
		for _, kind := range exactly {
			for _, f := range fates {
				t.Run(fmt.Sprintf("%s, %s, %s", name, kind, f.name), func(t *testing.T) {
					for n := 1; ; n++ {
						hit := false
						synctest.Test(t, func(t *testing.T) { hit = f.strike(newRig(t, 2, shape(from(kind))), n) })
						if !hit && n <= 5 {
							t.Fatalf("only %d commits were made, too few to test anything", n-1)
						}
						if !hit || t.Failed() {
							break
						}
					}
				})
			}
		}
	}
}

// strike runs the topology while records come, and lets the n-th commit that carries anything fail.
func (f fate) strike(r *rig, n int) (hit bool) {
	c := r.container()
	var struck, late *attempt
	seen := 0
	c.committing = func(a *attempt) error {
		c.mu.Lock()
		seen++
		mine := seen == n
		if mine {
			struck, late = a, a
		}
		c.mu.Unlock()
		if mine {
			return f.answer(a)
		}
		return a.do()
	}
	c.around = func(op string, do func() error) error {
		err := do()
		c.mu.Lock()
		a := late
		if a == nil || op != "load "+a.stage || f.late == nil {
			a = nil
		} else {
			late = nil
		}
		c.mu.Unlock()
		if a != nil {
			f.late(r, a)
		}
		return err
	}
	c.start()
	for range 6 {
		r.feed(10)
		time.Sleep(100 * time.Millisecond)
	}
	r.untilExact()
	r.must(c.drain())
	r.wantExact()
	if struck == nil {
		return false
	}
	f.wantGivenUp(c, struck)
	if late != nil && f.late != nil {
		r.Error("the rows were not read again, so that the late commit never came")
	}
	r.feed(10)
	r.catchUp()
	r.wantExact()
	return true
}

// wantGivenUp checks that what failed was given up: its rows were read again, and no commit under the
// same seq, or without a writer under the same epoch, was tried after it.
func (f fate) wantGivenUp(c *container, failed *attempt) {
	c.Helper()
	tried := 0
	for _, commit := range c.commits {
		if commit.Writer == failed.Writer && slices.EqualFunc(commit.Moves, failed.Moves, func(a, b protocol.Move) bool {
			return a.Input == b.Input && a.Epoch == b.Epoch && a.TxID == b.TxID
		}) {
			tried++
		}
	}
	nothingHappened := f.name == "is lost" && failed.Writer.Writer.IsZero()
	if tried > 1 && !nothingHappened {
		c.Errorf("%d commits by the same rights: %+v", tried, failed.Commit)
	}
	if n := c.sum(failed.Moves[0].Input.Operator, func(i *vitals.Instance) int64 { return i.Reloads.Load() }); n == 0 {
		c.Errorf("a commit of %s failed, and nothing was reloaded", failed.stage)
	}
}

func TestALostCommitClosesItsWriterBeforeTheRowsAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		c := r.container()
		first := once()
		c.committing = func(a *attempt) error {
			if a.stage == "in" && first() {
				return protocol.ErrLost
			}
			return a.do()
		}
		r.feed(3)
		c.start()
		r.untilExact()
		got := strings.Join(c.did("commit in", "close writer", "load in", "open writer in"), ", ")
		// The first rows are read while the container looks at the topic, the next as the instance starts.
		if want := "load in, load in, open writer in, commit in, close writer, load in, open writer in, commit in"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		r.must(c.drain())
	})
}

func TestAnUnknownOutcomeIsNeverRetriedBlindly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, direct(from(topology.AtMostOnce)))
		r.feedTo(0, "once")
		c := r.container()
		c.committing = func(a *attempt) error {
			err := a.do()
			if a.stage == "writer" { // the output; nothing in it tells that it was there before
				return errors.Join(err, protocol.ErrUnknown)
			}
			return err
		}
		c.start()
		r.untilExact()
		time.Sleep(5 * time.Second)
		r.must(c.drain())
		r.wantExact()
	})
}

func TestAnUnreachableStoreIsWaitedFor(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 2, shape(from(topology.Opaque)))
				c := r.container().start()
				r.feed(30)
				r.untilExact()
				away := func(answer error) func() {
					return func() {
						c.around = func(op string, do func() error) error {
							if answer == nil || strings.HasPrefix(op, "append") || strings.HasPrefix(op, "offsets") || strings.HasPrefix(op, "topic") {
								return do()
							}
							return answer
						}
						c.committing = func(a *attempt) error {
							if answer == nil {
								return a.do()
							}
							return answer
						}
					}
				}
				c.set(away(store.ErrUnreachable))
				r.feed(30)
				time.Sleep(20 * time.Second)
				c.set(away(nil))
				r.untilExact()
				folds := r.plan.Stages[0].Outs[0].To.Reduce == nil // what reads rows first is built again
				if n := c.sum("in", func(i *vitals.Instance) int64 { return i.Reloads.Load() }); n != 0 && folds {
					t.Errorf("%d batches were given up though nothing had happened", n)
				}
				r.must(c.drain())
				r.wantExact()
			})
		})
	}
}

// TestABlockThatIsNotAcknowledged lets the n-th block fail. It may be in the log or not.
func TestABlockThatIsNotAcknowledgedVoidsItsBatch(t *testing.T) {
	for _, stored := range []bool{false, true} {
		for name, shape := range map[string]func(topology.Kafka) *topology.Builder{"exchange": wordCount, "keyed to keyed": chain} {
			t.Run(fmt.Sprintf("%s, stored %t", name, stored), func(t *testing.T) {
				for n := 1; n <= 12; n++ {
					synctest.Test(t, func(t *testing.T) { refuseBlock(newRig(t, 2, shape(from(topology.Opaque))), n, stored) })
				}
			})
		}
	}
}

func refuseBlock(r *rig, n int, stored bool) {
	c := r.container()
	blocks := 0
	c.around = func(op string, do func() error) error {
		if !strings.HasPrefix(op, "append") {
			return do()
		}
		c.mu.Lock()
		blocks++
		mine := blocks == n
		c.mu.Unlock()
		if !mine {
			return do()
		}
		if stored {
			_ = do()
		}
		return fmt.Errorf("appending: %w", broker.ErrUnreachable)
	}
	c.start()
	for range 3 {
		r.feed(20)
		time.Sleep(100 * time.Millisecond)
	}
	r.untilExact()
	time.Sleep(time.Second)
	r.must(c.drain())
	r.wantExact()
	if blocks < n {
		r.Fatalf("only %d blocks were made", blocks)
	}
	if len(c.did("close writer")) < 2 { // that of the batch, and the last of each stage
		r.Error("the writer of the void batch was not closed")
	}
	garbage := func(i *vitals.Instance) int64 { return i.Garbage.Load() }
	if stored && c.sum("counts", garbage)+c.sum("newest", garbage) == 0 {
		r.Error("the block of the void batch is in the log, and no garbage was dropped")
	}
}

func TestAHangingProduceHoldsTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		c := r.container()
		release := make(chan struct{})
		c.around = func(op string, do func() error) error {
			if op == "append counts" {
				<-release
			}
			return do()
		}
		r.feed(10)
		c.start()
		time.Sleep(20 * time.Second)
		if n := len(c.did("commit in")); n > 0 {
			t.Errorf("%d commits though no block was acknowledged", n)
		}
		close(release)
		r.untilExact()
		r.must(c.drain())
		r.wantExact()
	})
}

func TestAContainerThatCannotDrainInTimeSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, direct(from(topology.Opaque)))
		c := r.container()
		c.committing = func(*attempt) error { return store.ErrUnreachable }
		r.feed(10)
		c.start()
		time.Sleep(time.Second)
		began := time.Now()
		err := c.drain()
		if err == nil || !strings.Contains(err.Error(), "draining took longer than 10s") || errors.Is(err, context.Canceled) {
			t.Errorf("the drain ended with %v", err)
		}
		if took := time.Since(began); took != c.DrainTime && took != 10*time.Second {
			t.Errorf("the drain took %s", took)
		}
		r.catchUp(func(c *Config) { c.Name = "second" })
		r.wantExact()
	})
}
