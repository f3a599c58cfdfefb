package kafkalocal

import (
	"bytes"
	"io"
)

// maxReadyLine bounds the line that is being gathered: longer ones are not the ready line.
const maxReadyLine = 1 << 10

// readyWriter passes on what the broker's process prints, and takes its address from the ready line.
type readyWriter struct {
	next io.Writer
	addr chan string
	line []byte
}

func newReadyWriter(next io.Writer) *readyWriter {
	return &readyWriter{next: next, addr: make(chan string, 1)}
}

func (w *readyWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		if len(w.line)+len(part) <= maxReadyLine {
			w.line = append(w.line, part...)
		}
		if whole {
			w.endLine()
		}
	}
	return w.next.Write(p)
}

func (w *readyWriter) endLine() {
	if addr, ok := bytes.CutPrefix(w.line, []byte(readyPrefix)); ok {
		select {
		case w.addr <- string(addr):
		default: // it was said before
		}
	}
	w.line = w.line[:0]
}
