package worker

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/vitals"
)

func TestTheGateClosesAtTheHighMarkAndOpensAtHalf(t *testing.T) {
	shape, err := exchange.NewShape(exchange.Layout{exchange.AddInt}, true)
	if err != nil {
		t.Fatal(err)
	}
	b := &bucket{dirty: exchange.NewBucketTable(shape), spare: exchange.NewBucketTable(shape)}
	k := &keyed{
		worker: &worker{Config: Config{HighBytes: 100, HighAge: time.Second}}, gate: new(gate), vit: new(vitals.Instance), order: []*bucket{b},
	}
	now := time.Now()
	for i, step := range []struct {
		bytes  int
		age    time.Duration
		closed bool
	}{
		{bytes: 99},
		{bytes: 100, closed: true},
		{bytes: 99, closed: true},
		{bytes: 50, closed: true},
		{bytes: 49},
		{bytes: 99},
		{age: 999 * time.Millisecond},
		{age: time.Second, closed: true},
		{age: 950 * time.Millisecond, closed: true},
		{age: time.Millisecond},
	} {
		b.held, b.merged = step.bytes, now.Add(-step.age)
		k.feedback(now)
		if k.gate.held() != step.closed {
			t.Errorf("step %d, %d bytes of age %s: closed is %t, want %t", i, step.bytes, step.age, k.gate.held(), step.closed)
		}
	}
}

// jam lets the commits of an operator hang until the answer is called.
func (c *container) jam(op runtime.OperatorID) (release func()) {
	open := make(chan struct{})
	c.set(func() {
		c.committing = func(a *attempt) error {
			if a.stage == string(op) {
				<-open
			}
			return a.do()
		}
	})
	release = sync.OnceFunc(func() { close(open) })
	c.Cleanup(release)
	return release
}

// stalls feeds until the operator's inputs move no more, for twenty times what a batch takes.
func (c *container) stalls(op runtime.OperatorID) {
	c.Helper()
	position := func() (sum runtime.Offset) {
		for _, row := range c.progress(op) {
			sum += row.Position
		}
		return sum
	}
	before, same := position(), 0
	for range 500 {
		c.feed(5)
		time.Sleep(100 * time.Millisecond)
		if at := position(); at != before {
			before, same = at, 0
		} else if same++; same == 20 {
			return
		}
	}
	c.Fatalf("%s goes on and on", op)
}

func TestSourcesAreHeldWhileTheStageBehindHasTooMuch(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"bytes": func(c *Config) { c.HighBytes, c.HighAge = 3000, time.Hour },
		"age":   func(c *Config) { c.HighAge = 2 * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 2, wordCount(from(topology.Opaque)))
				c := r.container(change)
				release := c.jam("counts")
				c.start()
				c.stalls("in")
				if n := c.sum("in", func(i *vitals.Instance) int64 { return i.HeldNanos.Load() }); n < int64(time.Second) {
					t.Errorf("the source says that it was held for %s", time.Duration(n))
				}
				release()
				r.untilExact()
				r.must(c.drain())
			})
		})
	}
}

func TestAKeyedStageIsHeldByTheOneBehindItAndHoldsItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, chain(from(topology.Opaque)))
		c := r.container(func(c *Config) { c.HighBytes, c.HighAge = 3000, time.Hour })
		release := c.jam("newest")
		c.start()
		c.stalls("counts")
		c.stalls("in")
		release()
		r.untilExact()
		r.must(c.drain())
	})
}

func TestAHeldSourceStillCommitsWhatItHasProduced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		c := r.container(func(c *Config) { c.HighBytes = 2 }) // full with the first block, which only its commit decides
		c.around = func(op string, do func() error) error {
			err := do()
			if strings.HasPrefix(op, "append") {
				time.Sleep(500 * time.Millisecond)
			}
			return err
		}
		r.feed(10)
		c.start()
		r.untilExact()
		r.feed(10)
		r.untilExact()
		r.must(c.drain())
	})
}

// batches runs a backlog of 2,000 records that arrives slowly and answers how many batches it took.
func batches(t *testing.T, change func(*Config)) (n int) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		r.feed(20_000)
		c := r.container(change)
		c.pollPause, c.fetchBytes = 20*time.Millisecond, 3000 // some 100 records
		c.UntilCaughtUp = true
		c.start()
		r.must(c.end())
		r.wantExact()
		n = len(c.moves("in"))
	})
	return n
}

func TestWithBacklogBatchesAreCutByTimeAndBytesNotByFreshness(t *testing.T) {
	// Reading takes some 4 s in 200 polls. By freshness, 10 ms, nearly each would be a batch. The last
	// tenth is no backlog: fewer records wait than the bound.
	byTime := batches(t, func(c *Config) { c.BatchTime = time.Second })
	if byTime < 3 || byTime > 40 {
		t.Errorf("%d batches of a second", byTime)
	}
	byBytes := batches(t, func(c *Config) { c.BatchTime, c.BatchBytes = time.Hour, 64<<10 })
	if byBytes < 5 || byBytes > 40 {
		t.Errorf("%d batches of 64 KiB", byBytes)
	}
}
