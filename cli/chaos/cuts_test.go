//go:build kafka

package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/selfregulating/sr/cli/chaos/cell"
)

// The outcome of a commit is unknown when its connection is lost: before it arrived, after it was done, or
// while it is still under way. The node that asked goes on by itself in every case.
func TestChaosShortCutAtCommit(t *testing.T) {
	for _, c := range []cell.Cell{overExchange, overDirect, overChain} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c, setting{})
			p := newProxy(w)
			node := w.start(launch{postgres: p.through(w)})
			w.feed(1_000)
			w.moves(1)
			kinds := []faultKind{cutBefore, cutAfter, cutLate, cutLate, cutBefore, cutAfter, cutLate}
			w.rand.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
			for _, kind := range kinds {
				w.cutOnce(p, node, kind)
			}
			node.kill()
			w.settle(launch{})
		})
	}
}

// cutOnce cuts one commit, and waits until the node has noticed and goes on.
func (w *world) cutOnce(p *proxy, n *node, kind faultKind) {
	w.t.Helper()
	noticed := strings.Count(n.said(), restarted)
	f := p.arm(&fault{kind: kind, once: true, rand: w.dice()})
	fed := w.feeding(3_000)
	w.strikes(f)
	eventually(w.t, "a node's notice of a lost commit", func() bool { return strings.Count(n.said(), restarted) > noticed })
	if kind == cutLate {
		time.Sleep(time.Duration(w.rand.IntN(100)) * time.Millisecond)
	}
	p.disarm()
	fed()
	w.feed(500)
	end := w.fed()
	eventually(w.t, "progress of the node that lost a commit", func() bool {
		if !n.running() {
			w.t.Fatalf("a node ended (%s) because a commit was cut", n.cmd.ProcessState)
		}
		return w.moved() >= end
	})
}

// restarted is what a node logs when it has given up a batch.
const restarted = "starting again from the committed rows"
