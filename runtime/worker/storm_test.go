package worker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

// storm makes requests late, lost, unanswered or refused at random while it blows.
type storm struct {
	mu   sync.Mutex
	rng  *rand.Rand
	calm bool
	late sync.WaitGroup
}

// chance answers true in one of n cases, never once it is calm.
func (s *storm) chance(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.calm && s.rng.IntN(n) == 0
}

func (s *storm) pause() {
	s.mu.Lock()
	d := time.Duration(s.rng.IntN(100)) * time.Millisecond
	s.mu.Unlock()
	time.Sleep(d)
}

func (s *storm) commit(a *attempt) error {
	switch {
	case s.chance(20):
		return store.ErrUnreachable
	case s.chance(20):
		return protocol.ErrLost
	case s.chance(20):
		_ = a.do()
		return protocol.ErrUnknown
	case s.chance(10):
		s.late.Go(func() {
			s.pause()
			_ = a.do()
		})
		return protocol.ErrUnknown
	case s.chance(4):
		s.pause()
	}
	return a.do()
}

func (s *storm) call(op string, do func() error) error {
	away := store.ErrUnreachable
	if strings.HasPrefix(op, "append") || strings.HasPrefix(op, "offsets") || strings.HasPrefix(op, "topic") {
		away = broker.ErrUnreachable
	}
	// Who opens a writer or renews the lease has a lock, on which no bubble's clock moves.
	locks := op == "heartbeat" || strings.HasPrefix(op, "open writer")
	switch {
	case op == "register" || op == "fence" || op == "unregister":
	case s.chance(30):
		return away
	case s.chance(30):
		_ = do()
		return away
	case !locks && s.chance(4):
		s.pause()
	}
	return do()
}

// TestStorms runs lives of containers, one after the other, in a storm each. SR_STORMS sets how many
// seeds are tried, SR_SEED the first.
func TestStorms(t *testing.T) {
	storms, seed := setting(t, "SR_STORMS", 4), setting(t, "SR_SEED", 1)
	for name, shape := range shapes {
		for _, kind := range exactly {
			for n := range storms {
				t.Run(fmt.Sprintf("%s, %s, seed %d", name, kind, seed+n), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { weather(newRig(t, 2, shape(from(kind))), uint64(seed+n)) })
				})
			}
		}
	}
}

func setting(t *testing.T, name string, unset int) int {
	text := os.Getenv(name)
	if text == "" {
		return unset
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func weather(r *rig, seed uint64) {
	s := &storm{rng: rand.New(rand.NewPCG(seed, 0))}
	for life := range 3 {
		c := r.container(func(c *Config) { c.Name = fmt.Sprintf("life %d", life) })
		dies := life < 2 && s.chance(2)
		c.start()
		r.until("its instances run", func() bool { return len(c.Vitals.Instances()) == len(r.plan.Stages) })
		c.set(func() { c.around, c.committing = s.call, s.commit }) // a start says what it cannot reach
		for range 10 {
			r.feed(5)
			s.pause()
		}
		if dies { // nothing reaches the store any more, so that the next has to wait for the lease
			c.set(func() {
				c.around = func(string, func() error) error { return store.ErrFull }
				c.committing = func(*attempt) error { return store.ErrFull }
			})
			c.wantIs(store.ErrFull)
			continue
		}
		if life == 2 {
			s.mu.Lock()
			s.calm = true
			s.mu.Unlock()
			r.untilExact()
		}
		r.must(c.drain())
	}
	s.late.Wait()
	r.catchUp()
	r.wantExact()
}
