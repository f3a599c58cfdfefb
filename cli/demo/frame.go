package demo

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/selfregulating/sr/cli/render"
)

// frame is one look at the count while it runs.
type frame struct {
	fed
	glance
	// earlier are the bytes that earlier runs fed; size is how many bytes this run feeds, 0 if unknown.
	earlier, size int64
	rate          float64 // records a second that are read and committed
	freshness     time.Duration
}

const (
	barWidth  = 30
	wordWidth = 30
	// besides are the lines of a frame that are not words, and one that the cursor needs.
	besides = 8
)

// lines is the frame for a terminal of so many lines.
func (f frame) lines(height int) []string {
	lines := []string{"", f.feeding(bar(f.bytes-f.earlier, f.size) + " "), ""}
	lines = append(lines, f.words(max(0, height-besides))...)
	return append(lines, "", "  "+f.counts(), "  "+f.speeds())
}

// line is the frame in one line.
func (f frame) line() string { return f.feeding("") + "; " + f.counts() + "; " + f.speeds() }

// feeding tells how much of the text is fed, with a bar in front if there is one.
func (f frame) feeding(bar string) string {
	done := f.bytes - f.earlier
	switch {
	case f.whole:
		return "Fed " + megabytes(done)
	case f.size == 0:
		return "Feeding " + megabytes(done)
	}
	return fmt.Sprintf("Feeding %s%d %% of %s", bar, 100*min(done, f.size)/f.size, megabytes(f.size))
}

func (f frame) counts() string {
	return fmt.Sprintf("fed %s words, counted %s in %s rows", thousands(f.fed.words), thousands(f.counted), thousands(f.rows))
}

func (f frame) speeds() string {
	text := fmt.Sprintf("%s records/s, lag %s records, freshness %.2f s",
		thousands(int64(f.rate)), thousands(max(0, f.records-f.read)), f.freshness.Seconds())
	if n := f.glance.deadLetters; n > 0 {
		text += fmt.Sprintf(", %s dead letters", thousands(n))
	}
	return text
}

// words is the table of the words on top, at most n of them.
func (f frame) words(n int) []string {
	top := f.top[:min(n, len(f.top))]
	if len(top) == 0 {
		return nil
	}
	s := render.Section{Columns: []string{"word", "count", ""}}
	for _, w := range top {
		s.Rows = append(s.Rows, []any{printable(w.Word), thousands(w.Count), strings.Repeat("■", share(w.Count, top[0].Count))})
	}
	var table bytes.Buffer
	// A table into memory can fail for its shape alone.
	if err := render.NewPrinter(&table, render.Table).Print(render.Answer{Sections: []render.Section{s}}); err != nil {
		return []string{err.Error()}
	}
	return strings.Split(strings.TrimRight(table.String(), "\n"), "\n")
}

// printable is a word of somebody's text as a terminal may see it.
func printable(word string) string {
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, word)
	return runewidth.Truncate(clean, wordWidth, "…")
}

func bar(done, of int64) string {
	full := share(done, of)
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

// share is done ÷ of in widths of a bar.
func share(done, of int64) int { return int(barWidth * float64(min(done, of)) / float64(max(of, 1))) }
