package local

import (
	"strings"
	"sync"
)

// tailBytes bounds what a Tail keeps: enough for the last dozen lines of a server's log.
const tailBytes = 4 << 10

// Tail is a writer that keeps the end of what was written, to explain a server that would not start.
type Tail struct {
	mu  sync.Mutex
	end []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if extra := len(t.end) - tailBytes; extra > 0 {
		t.end = append(t.end[:0], t.end[extra:]...)
	}
	return len(p), nil
}

// String is the kept end, without blank space around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.end))
}

// Contains tells whether the kept end contains s.
func (t *Tail) Contains(s string) bool { return strings.Contains(t.String(), s) }
