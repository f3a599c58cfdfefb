package demo

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/selfregulating/sr/cli/render"
)

// plainEvery is the time between two lines about how far it is, where no terminal shows a table.
const plainEvery = 2 * time.Second

// screen is the conversation: what is said stays, and below it, on a terminal, a frame is drawn again and again.
type screen struct {
	mu    sync.Mutex
	out   io.Writer
	live  bool // a terminal
	drawn int  // lines of the frame that is on the screen
	last  time.Time
}

func newScreen(out io.Writer) *screen {
	return &screen{out: out, live: render.IsTerminal(out)}
}

// say prints a line above the frame.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase(s.out)
	fmt.Fprintf(s.out, format+"\n", args...)
}

// Write takes the lines of a log.
func (s *screen) Write(lines []byte) (int, error) {
	s.say("%s", bytes.TrimRight(lines, "\n"))
	return len(lines), nil
}

// draw replaces the frame.
func (s *screen) draw(f frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		if now := time.Now(); now.Sub(s.last) >= plainEvery {
			s.last = now
			fmt.Fprintln(s.out, f.line())
		}
		return
	}
	width, height := s.size()
	lines := f.lines(height)
	var all bytes.Buffer
	s.erase(&all)
	for _, line := range lines {
		fmt.Fprintln(&all, runewidth.Truncate(line, width-1, "…"))
	}
	s.drawn = len(lines)
	_, _ = s.out.Write(all.Bytes()) // nothing can be done for a screen that is gone
}

// keep leaves the frame where it is, and what follows has an empty line before it.
func (s *screen) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn > 0 {
		fmt.Fprintln(s.out)
	}
	s.drawn = 0
}

func (s *screen) erase(out io.Writer) {
	if s.drawn > 0 {
		fmt.Fprintf(out, "\x1b[%dA\x1b[J", s.drawn)
	}
	s.drawn = 0
}

// size is that of the terminal, or a small one where it is not told.
func (s *screen) size() (width, height int) {
	if f, ok := s.out.(*os.File); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return 80, 24
}

// progress shows how many bytes of something are done: a bar on a terminal, else a line now and then, and nothing if
// there was nothing to do.
type progress struct {
	show *screen
	what string
	bar  *render.Progress
	done int64
	last time.Time
}

func (s *screen) progress(what string) *progress { return &progress{show: s, what: what} }

func (p *progress) set(done, total int64) {
	if !p.show.live {
		if now := time.Now(); now.Sub(p.last) >= plainEvery {
			p.last = now
			p.show.say("%s: %s of %s", p.what, megabytes(done), megabytes(total))
		}
		return
	}
	if p.bar == nil {
		p.bar = render.NewProgress(p.show.out, p.what, total, render.Bytes)
	}
	p.bar.Add(done - p.done)
	p.done = done
}

func (p *progress) end() {
	if p.bar != nil {
		p.bar.End()
	}
}

// thousands is a number with commas.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	var out strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 && text[i-1] != '-' {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	return out.String()
}

func megabytes(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
