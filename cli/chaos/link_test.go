//go:build kafka

package chaos

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
)

// link is one connection.
type link struct {
	p              *proxy
	client, server net.Conn
	commits        map[string]bool // names of prepared statements that move progress
	mu             sync.Mutex
	muted          bool
	answered       chan struct{}
}

// backward copies answers; once muted it drops them.
func (l *link) backward() {
	defer close(l.answered)
	defer l.client.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := l.server.Read(buf)
		l.mu.Lock()
		muted := l.muted
		l.mu.Unlock()
		switch {
		case err != nil:
			return
		case muted:
			select {
			case l.answered <- struct{}{}:
			default:
			}
		default:
			if _, err := l.client.Write(buf[:n]); err != nil {
				return
			}
		}
	}
}

var errHit = errors.New("a fault ended the connection")

// forward copies requests, message by message, and keeps a pipeline back until its Sync.
func (l *link) forward() {
	defer l.server.Close()
	defer l.client.Close()
	if l.startup() != nil {
		return
	}
	var unit [][]byte
	commit := false
	for {
		m, err := message(l.client)
		if err != nil {
			return
		}
		switch m[0] {
		case 'P':
			l.prepares(m)
			unit = append(unit, m)
			continue
		case 'B', 'D', 'E', 'C':
			commit = commit || m[0] == 'B' && l.moves(m)
			unit = append(unit, m)
			continue
		case 'S':
			unit = append(unit, m)
			if f := l.p.takesIf(commit); f != nil {
				if l.hit(f, unit) != nil {
					return
				}
				unit, commit = nil, false
				continue
			}
		default:
			unit = append(unit, m)
		}
		if _, err := l.server.Write(bytes.Join(unit, nil)); err != nil {
			return
		}
		unit, commit = nil, false
	}
}

func (p *proxy) takesIf(commit bool) *fault {
	if !commit {
		return nil
	}
	return p.takes()
}

// hit does to a commit what the fault says.
func (l *link) hit(f *fault, unit [][]byte) error {
	switch f.kind {
	case cutBefore:
		return errHit
	case cutAfter:
		l.mute()
		if _, err := l.server.Write(bytes.Join(unit, nil)); err != nil {
			return err
		}
		<-l.answered
		return errHit
	}
	// At least the Sync stays behind; the server works on what it got, and keeps its locks.
	part := f.rand.IntN(len(unit))
	if f.kind == stall {
		part = len(unit) - 1
	}
	flush := []byte{'H', 0, 0, 0, 4} // has the server send what it has, as a full buffer would
	if _, err := l.server.Write(append(bytes.Join(unit[:part], nil), flush...)); err != nil {
		return err
	}
	if f.kind == cutLate {
		l.mute()
		_ = l.client.Close()
	}
	<-f.release
	if _, err := l.server.Write(bytes.Join(unit[part:], nil)); err != nil {
		return err
	}
	if f.kind == cutLate {
		<-l.answered
		return errHit
	}
	return nil
}

func (l *link) mute() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.muted = true
}

// startup passes the first message on, which has no type.
func (l *link) startup() error {
	head := make([]byte, 4)
	if _, err := io.ReadFull(l.client, head); err != nil {
		return err
	}
	rest := make([]byte, max(0, int(binary.BigEndian.Uint32(head))-4))
	if _, err := io.ReadFull(l.client, rest); err != nil {
		return err
	}
	_, err := l.server.Write(append(head, rest...))
	return err
}

// message reads a message: a type, a length that counts itself, a body.
func message(from io.Reader) ([]byte, error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	m := make([]byte, 1+binary.BigEndian.Uint32(head[1:]))
	copy(m, head)
	_, err := io.ReadFull(from, m[5:])
	return m, err
}

// prepares takes note of a statement that moves progress.
func (l *link) prepares(m []byte) {
	name, rest, _ := bytes.Cut(m[5:], []byte{0})
	sql, _, _ := bytes.Cut(rest, []byte{0})
	if strings.Contains(string(sql), "UPDATE sr.progress p SET") && strings.Contains(string(sql), "txid = x.txid") {
		l.commits[string(name)] = true
	}
}

func (l *link) moves(m []byte) bool {
	_, rest, _ := bytes.Cut(m[5:], []byte{0}) // the portal
	name, _, _ := bytes.Cut(rest, []byte{0})
	return l.commits[string(name)]
}
