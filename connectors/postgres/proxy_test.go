package postgres

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy passes bytes on to a server. It can hold back those of the clients, and cut the clients off
// while what they sent is still under way.
type proxy struct {
	listener net.Listener
	target   string
	sessions sync.WaitGroup

	mu      sync.Mutex
	release *sync.Cond // hold has ended
	hold    bool
	kept    int // bytes held back now
	clients []net.Conn
}

// newProxy returns a proxy, and what turns the URL of a server into one that leads through it.
func newProxy(t *testing.T) (*proxy, func(string) string) {
	p := &proxy{}
	p.release = sync.NewCond(&p.mu)
	return p, func(direct string) string {
		parsed, err := url.Parse(direct)
		check(t, err)
		p.target = parsed.Host
		p.listener, err = net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		t.Cleanup(func() { _ = p.listener.Close() })
		go p.accept()
		parsed.Host = p.listener.Addr().String()
		return parsed.String()
	}
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.clients = append(p.clients, client)
		p.mu.Unlock()
		p.sessions.Go(func() { // until the server has ended the session
			p.pass(client, server, func(int) {})
			_ = client.Close()
		})
		p.sessions.Go(func() {
			p.pass(server, client, p.wait)
			_ = server.(*net.TCPConn).CloseWrite()
		})
	}
}

// pass copies until one of the ends is closed; to the server it goes on although the client is gone.
func (p *proxy) pass(to, from net.Conn, wait func(n int)) {
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			wait(n)
			_, _ = to.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) wait(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.kept += n; p.hold; {
		p.release.Wait()
	}
	p.kept = 0
}

func (p *proxy) set(hold bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = hold
	p.release.Broadcast()
}

func (p *proxy) keeps() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hold && p.kept > 0
}

// cut ends the connections to all clients and takes no new ones.
func (p *proxy) cut() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		_ = c.Close()
	}
}
