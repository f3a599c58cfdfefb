package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/vitals"
)

// lose deletes the records of partitions up to an offset, those not read yet among them.
func (r *rig) lose(at map[int32]runtime.Offset) {
	r.Helper()
	r.must(r.broker.Trim(context.Background(), sentences, at))
}

// gapped is a rig that has read 10 records in each of three partitions, and lost the next 5 in the first two.
func gapped(t *testing.T, policy topology.RangePolicy) *rig {
	k := from(topology.Opaque)
	k.OutOfRange = policy
	r := newRig(t, 3, wordCount(k))
	r.feed(30)
	r.catchUp()
	for i := range 15 {
		text := fmt.Sprintf("n%d", i)
		if r.fed%3 < 2 {
			r.produce(int32(r.fed%3), text)
		} else {
			r.feedTo(2, text)
		}
	}
	r.lose(map[int32]runtime.Offset{0: 15, 1: 15})
	r.feed(15)
	return r
}

func TestAPolicyGoesOnInEveryPartitionThatLostRecords(t *testing.T) {
	for name, at := range map[string]topology.StartAt{"earliest": topology.AtEarliest, "latest": topology.AtLatest} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := gapped(t, topology.RangePolicy{Skip: true, To: topology.Start{At: at}})
				lost := int64(10)
				c := r.container()
				if at == topology.AtLatest {
					lost = 20
					for id := 45; id < 60; id++ { // what is there in those partitions is skipped, too
						if id%3 < 2 {
							for _, w := range strings.Fields(fmt.Sprintf("r%05d shared%d common%d", id, id%7, id%3)) {
								if r.truth[w]--; r.truth[w] == 0 {
									delete(r.truth, w)
								}
							}
						}
					}
				}
				c.start()
				r.untilExact()
				r.feed(9)
				r.untilExact()
				r.must(c.drain())
				if n := c.sum("in", func(i *vitals.Instance) int64 { return i.SkippedOffsets.Load() }); n != lost {
					t.Errorf("%d records are counted as skipped, want %d", n, lost)
				}
			})
		})
	}
}

func TestLostRecordsStopASpoutThatHasNoPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := gapped(t, topology.RangePolicy{})
		lost := wantError[*RangeError](r.container().start())
		var out *broker.OutOfRangeError
		if !errors.As(lost, &out) || out.At != 10 || out.Offsets.Start != 15 || lost.Input.Partition > 1 {
			t.Errorf("the error is %+v of %+v", lost, out)
		}
	})
}

func TestAPositionThatOthersMovedIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		r.feed(10)
		c := r.container()
		first := once()
		c.fetched = func(topic string, f *broker.Fetch) {
			if topic == sentences && first() { // as a reader that looked where others have trimmed
				f.Chunks, f.Errors = nil, []broker.PartitionError{{Err: &broker.OutOfRangeError{Topic: sentences, At: 0}}}
			}
		}
		c.start()
		r.untilExact()
		r.must(c.drain())
		r.wantExact()
	})
}

func TestALostPartOfAnExchangeStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		r.feed(20)
		c := r.container()
		c.committing = func(a *attempt) error {
			if a.stage == "counts" {
				return errInjected
			}
			return a.do()
		}
		c.start()
		r.until("the source is done", func() bool { return len(c.moves("in")) > 0 })
		c.abandon()
		r.must(r.broker.Trim(context.Background(), ExchangeTopic(r.id, "counts"), map[int32]runtime.Offset{0: 1, 1: 1, 2: 1, 3: 1}))
		c = r.container().start()
		c.wantIs(errExchangeLost)
		if n := len(c.did("load counts")); n < 3 {
			t.Errorf("the rows were read %d times: not again before stopping", n)
		}
	})
}

// abandon drains a container that cannot; what it says to that is not looked at.
func (c *container) abandon() {
	c.Helper()
	_ = c.drain()
}

func TestNewPartitionsAreReadFromTheirStart(t *testing.T) {
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("running %t", running), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := from(topology.Opaque)
				k.Start = topology.Start{At: topology.AtLatest}
				r := newRig(t, 2, wordCount(k))
				c := r.container().start()
				time.Sleep(time.Second)
				r.feed(10)
				r.untilExact()
				if !running {
					r.must(c.drain())
				}
				r.must(r.broker.Grow(sentences, 5))
				r.parts = 5
				r.feed(50)
				if !running {
					c = r.container().start()
				}
				r.untilExact()
				r.must(c.drain())
			})
		})
	}
}

func TestAGrownTopicThatIsPartitionedByTheKeyStops(t *testing.T) {
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("running %t", running), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 2, direct(from(topology.Opaque)))
				c := r.container().start()
				r.feed(10)
				r.untilExact()
				if !running {
					r.must(c.drain())
				}
				r.must(r.broker.Grow(sentences, 3))
				if !running {
					c = r.container().start()
				}
				if grown := wantError[*GrownError](c); grown.Was != 2 || grown.Now != 3 {
					t.Errorf("the error is %+v", grown)
				}
			})
		})
	}
}

func TestARecreatedTopicStops(t *testing.T) {
	for _, exchange := range []bool{false, true} {
		for _, running := range []bool{true, false} {
			t.Run(fmt.Sprintf("exchange %t, running %t", exchange, running), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, 2, wordCount(from(topology.Opaque)))
					c := r.container().start()
					r.feed(10)
					r.untilExact()
					if !running {
						r.must(c.drain())
					}
					r.recreate(exchange)
					if !running {
						c = r.container().start()
					}
					if again := wantError[*broker.RecreatedError](c); again.Want == again.Got {
						t.Errorf("the error is %+v", again)
					}
				})
			})
		}
	}
}

func (r *rig) recreate(exchange bool) {
	r.Helper()
	ctx, name := context.Background(), sentences
	if exchange {
		name = ExchangeTopic(r.id, "counts")
	}
	r.must(r.broker.DeleteTopic(ctx, name))
	if !exchange {
		r.must(r.broker.CreateTopic(name, r.parts))
		return
	}
	_, err := r.broker.EnsureExchange(ctx, broker.Exchange{Topic: name, Buckets: buckets})
	r.must(err)
}

func TestAnExchangeThatIsGoneStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		r.feed(10)
		r.catchUp()
		r.must(r.broker.DeleteTopic(context.Background(), ExchangeTopic(r.id, "counts")))
		c := r.container().start()
		c.wantIs(broker.ErrNoTopic)
		if _, err := r.broker.Topic(context.Background(), ExchangeTopic(r.id, "counts")); err == nil {
			t.Error("the exchange was made again, empty")
		}
	})
}
