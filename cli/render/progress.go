package render

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress shows how far something is that takes long. It draws on a terminal and is silent elsewhere.
type Progress struct{ bar *progressbar.ProgressBar }

// Unit is what a Progress counts.
type Unit bool

// The units.
const (
	Pieces Unit = false
	Bytes  Unit = true
)

// NewProgress begins a bar on out, which is the standard error. total may be negative if it is unknown.
func NewProgress(out io.Writer, what string, total int64, unit Unit) *Progress {
	return &Progress{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetVisibility(IsTerminal(out)),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(bool(unit)),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

// Add tells that n more are done. It may be called from several goroutines.
func (p *Progress) Add(n int64) { _ = p.bar.Add64(n) }

// SetTotal tells how many there are, once that is known.
func (p *Progress) SetTotal(total int64) { p.bar.ChangeMax64(total) }

// End takes the bar off the screen.
func (p *Progress) End() { _ = p.bar.Finish() }
