//go:build kafka

package chaos

import (
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between nodes and Postgres. It understands just enough of the protocol to know the
// pipeline of a commit, and then loses it on the way as it was told to.
type proxy struct {
	t      testing.TB
	target string
	ln     net.Listener

	mu    sync.Mutex
	armed *fault
	conns map[net.Conn]struct{}
	over  bool
}

// fault happens to commits.
type fault struct {
	kind faultKind
	// chance of each commit to be hit, 1 by default; once ends the fault at the first.
	chance float64
	once   bool
	rand   *rand.Rand
	// struck is closed when the first commit is hit; release lets go of what is held.
	struck, release chan struct{}
	strike          sync.Once
}

type faultKind string

const (
	// cutBefore: nothing of the commit arrives, and the connection is gone.
	cutBefore faultKind = "connection cut before COMMIT"
	// cutAfter: the commit is done, but its answer is lost.
	cutAfter faultKind = "connection cut after COMMIT"
	// cutLate: the connection is gone for the client, but the server gets the rest of the commit later.
	cutLate faultKind = "connection cut, COMMIT late"
	// stall: the pipeline stops before its end, with locks held and both sides connected.
	stall faultKind = "pipeline stalled"
)

func newProxy(w *world) *proxy {
	w.t.Helper()
	u, err := url.Parse(w.url)
	must(w.t, err)
	p := &proxy{t: w.t, target: u.Host, conns: map[net.Conn]struct{}{}}
	p.ln, err = net.Listen("tcp", "127.0.0.1:0")
	must(w.t, err)
	var running sync.WaitGroup
	running.Go(func() { p.accept(&running) })
	w.t.Cleanup(func() {
		p.disarm()
		p.closeAll()
		running.Wait()
	})
	return p
}

// through is a URL of the world's database that leads through the proxy.
func (p *proxy) through(w *world) string {
	u, err := url.Parse(w.url)
	must(w.t, err)
	u.Host = p.ln.Addr().String()
	return u.String()
}

// arm makes the fault happen to the next commits.
func (p *proxy) arm(f *fault) *fault {
	f.struck, f.release = make(chan struct{}), make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = f
	return f
}

// disarm ends the fault and lets go of what it holds.
func (p *proxy) disarm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed != nil {
		select {
		case <-p.armed.release:
		default:
			close(p.armed.release)
		}
	}
	p.armed = nil
}

// takes tells whether a commit is hit, and by what.
func (p *proxy) takes() *fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.armed
	if f == nil || f.chance > 0 && f.rand.Float64() >= f.chance {
		return nil
	}
	first := false
	f.strike.Do(func() { first = true; close(f.struck); tally.fault(string(f.kind)) })
	if f.once && !first {
		return nil
	}
	return f
}

func (p *proxy) accept(running *sync.WaitGroup) {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil { // as if nobody were there
			_ = client.Close()
			continue
		}
		l := &link{p: p, client: client, server: server, commits: map[string]bool{}, answered: make(chan struct{}, 1)}
		if !p.keep(client, server) {
			return
		}
		running.Go(l.backward)
		running.Go(l.forward)
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.over {
			_ = c.Close()
		}
		p.conns[c] = struct{}{}
	}
	return !p.over
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	_ = p.ln.Close()
	for c := range p.conns {
		_ = c.Close()
	}
}
