//go:build kafka

package chaos

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/selfregulating/sr/cli/chaos/cell"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/topology"
)

// The cells in which faults are tried that differ little between the others.
var (
	overExchange = cell.Cell{Spout: topology.Opaque, State: state.Auto, Shape: cell.Exchange}
	overDirect   = cell.Cell{Spout: topology.Transactional, State: state.Opaque, Shape: cell.Direct}
	overChain    = cell.Cell{Spout: topology.Transactional, State: state.Auto, Shape: cell.Chain}
)

// A node that is frozen past its lease, at an arrow of the protocol, wakes up when another has taken over:
// it does no harm, and ends because it was fenced.
func TestChaosShortFrozenNodesAreFenced(t *testing.T) {
	for _, f := range []struct {
		c     cell.Cell
		point string
	}{
		{overExchange, "source-committing"},
		{overExchange, "blocks-sent"},
		{overExchange, "keyed-committing"},
		{overChain, "keyed-produced"},
		{overDirect, "source-committing"},
		{overDirect, "source-gathered"},
	} {
		t.Run(f.c.String()+"/"+f.point, func(t *testing.T) {
			t.Parallel()
			newWorld(t, f.c, setting{}).freezeAt(f.point, 2)
		})
	}
}

// The same at any time.
func TestChaosShortFrozenAnytime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, overChain, setting{})
	w.feed(5_000)
	frozen := w.start(launch{})
	fed := w.feeding(10_000)
	w.moves(1)
	time.Sleep(time.Duration(w.rand.IntN(300)) * time.Millisecond)
	frozen.signal(syscall.SIGSTOP)
	frozen.frozen()
	fed()
	w.outlives(frozen)
	tally.fault("frozen any time")
}

// A node that is frozen in the middle of a commit holds the locks of its rows, and no timeout of
// Postgres ends it: whoever takes over does.
func TestChaosShortFrozenInsideAPipeline(t *testing.T) {
	for _, c := range []cell.Cell{overExchange, overDirect, overChain} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c, setting{})
			w.freezeInside()
		})
	}
}

func (w *world) freezeInside() {
	w.t.Helper()
	p := newProxy(w)
	w.feed(productRecords)
	frozen := w.start(launch{postgres: p.through(w)})
	w.moves(1)
	held := p.arm(&fault{kind: stall, once: true, rand: w.dice()})
	fed := w.feeding(productRecords)
	w.strikes(held)
	frozen.signal(syscall.SIGSTOP)
	frozen.frozen()
	fed()
	holders := w.lockHolders()
	w.start(launch{untilCaughtUp: true}).succeeds()
	if n := w.one(`SELECT count(*) FROM pg_stat_activity WHERE pid = ANY($1)`, holders); n != 0 {
		w.t.Fatalf("%d sessions still hold the locks of a container that was fenced", n)
	}
	p.disarm()
	w.wakes(frozen)
	w.settle(launch{})
}

// outlives has another node take over from a frozen one and finish; the frozen one then wakes up.
func (w *world) outlives(frozen *node) {
	w.t.Helper()
	w.feed(5_000)
	w.start(launch{untilCaughtUp: true}).succeeds()
	w.check()
	w.wakes(frozen)
	w.settle(launch{}) // what the fenced one has still produced is garbage
}

func (w *world) wakes(frozen *node) {
	w.t.Helper()
	frozen.signal(syscall.SIGCONT)
	frozen.stopsWith(protocol.ErrFenced.Error())
}

func (w *world) strikes(f *fault) {
	w.t.Helper()
	select {
	case <-f.struck:
	case <-time.After(patience):
		w.t.Fatalf("no commit met the fault %q", f.kind)
	}
}

// lockHolders waits for sessions that are inside a transaction and wait for their client.
func (w *world) lockHolders() (pids []int32) {
	w.t.Helper()
	eventually(w.t, "a session that is in the middle of a commit", func() bool {
		must(w.t, w.pool.QueryRow(context.Background(), `
			SELECT coalesce(array_agg(DISTINCT pid), '{}') FROM pg_stat_activity JOIN pg_locks l USING (pid)
			WHERE datname = current_database() AND wait_event = 'ClientRead' AND xact_start IS NOT NULL
			AND l.relation = 'sr.progress'::regclass`).Scan(&pids))
		return len(pids) > 0
	})
	return pids
}
