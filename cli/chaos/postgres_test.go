//go:build kafka

package chaos

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/selfregulating/sr/cli/chaos/cell"
	"github.com/selfregulating/sr/connectors/postgres"
	"github.com/selfregulating/sr/connectors/postgres/pglocal"
	"github.com/selfregulating/sr/connectors/postgres/pgtest"
	"github.com/selfregulating/sr/runtime"
)

// A node lives through crashes of Postgres. With synchronous_commit off a crash takes the last commits
// with it, which is a small restore: the node goes back as far as the rows do.
func TestChaosShortPostgresCrash(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	w := newWorld(t, overChain, setting{url: server.URL()})
	for _, durable := range []string{"off", "on"} {
		node := w.start(launch{postgres: w.url + "&synchronous_commit=" + durable})
		for range 2 {
			fed := w.feeding(8_000)
			w.moves(1_000 + w.rand.Int64N(4_000))
			server.Kill()
			must(t, server.Restart(context.Background()))
			fed()
			w.reaches(node, w.fed())
			tally.fault("Postgres crash, synchronous_commit " + durable)
		}
		node.kill()
	}
	w.settle(launch{})
}

// reaches waits until a node that must not stop has moved the source to the end.
func (w *world) reaches(n *node, end int64) {
	w.t.Helper()
	eventually(w.t, "progress of a node that has lived through a fault", func() bool {
		if !n.running() {
			w.t.Fatalf("a node ended (%s) because of a fault that passes", n.cmd.ProcessState)
		}
		return w.moved() >= end
	})
}

// Postgres goes back to an earlier time while the exchanges hold blocks of the time since.
func TestChaosShortRestoreOfPostgres(t *testing.T) {
	for _, r := range []struct {
		name    string
		c       cell.Cell
		restore func(*world, *node, func())
	}{
		{"planned", overExchange, restorePlanned},
		{"after a crash", overChain, restoreAfterCrash},
		{"under a living node", overExchange, restoreUnder},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			server := pgtest.Server(t)
			w := newWorld(t, r.c, setting{url: server.URL()})
			w.restored(server, r.restore)
			tally.fault("restore of Postgres " + r.name)
		})
	}
}

// restored runs a node, keeps a copy of the database's files on the way, and puts it back later.
func (w *world) restored(server *pglocal.Server, restore func(*world, *node, func())) {
	w.t.Helper()
	ctx := context.Background()
	var data string
	must(w.t, w.pool.QueryRow(ctx, "SHOW data_directory").Scan(&data))
	kept := filepath.Join(filepath.Dir(data), "kept-"+w.topic)
	keep := []string{"--margin", "1h"} // blocks must be there for as long as a restore may go back
	node := w.start(launch{args: keep})
	fed := w.feeding(10_000)
	w.moves(1_000)
	must(w.t, server.Stop(ctx))
	must(w.t, exec.Command("cp", "-a", data, kept).Run())
	must(w.t, server.Restart(ctx))
	fed()
	w.reaches(node, w.fed())
	w.feed(5_000)
	w.reaches(node, w.fed())
	restore(w, node, func() {
		must(w.t, server.Stop(ctx))
		must(w.t, exec.Command("rm", "-r", data).Run())
		must(w.t, exec.Command("mv", kept, data).Run())
		must(w.t, server.Restart(ctx))
		if w.moved() >= w.fed() {
			w.t.Fatal("the database has not gone back")
		}
	})
	w.feed(2_000)
	w.settle(launch{args: keep})
}

// restorePlanned fences every container, and so closes every writer, before a node starts.
func restorePlanned(w *world, n *node, back func()) {
	n.kill()
	back()
	ctx := context.Background()
	s, err := postgres.Open(ctx, postgres.Config{URL: w.url, Topology: cell.Name})
	must(w.t, err)
	defer s.Close()
	holders, err := s.Holders(ctx, runtime.Incarnation{})
	must(w.t, err)
	for _, h := range holders {
		must(w.t, s.Fence(ctx, h.Incarnation, runtime.Incarnation{}))
	}
}

// restoreAfterCrash leaves the container of the copy to the lease.
func restoreAfterCrash(_ *world, n *node, back func()) {
	n.kill()
	back()
}

// restoreUnder does not stop the node, which remembers what the database has forgotten.
func restoreUnder(w *world, n *node, back func()) {
	back()
	w.feed(1_000)
	w.reaches(n, w.fed())
	n.kill()
}
