package render

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// style is what depends on who reads.
type style struct{ terminal, colour bool }

func styleOf(out io.Writer) style {
	terminal := IsTerminal(out)
	return style{terminal: terminal, colour: terminal && os.Getenv("NO_COLOR") == ""}
}

// IsTerminal tells whether a person watches what is written.
func IsTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (s style) bold(text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// cell is a value as a table shows it.
func (s style) cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case []string:
		return orDash(strings.Join(v, ", "))
	case time.Time:
		return s.time(v)
	case time.Duration:
		return v.Round(time.Millisecond).String()
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	return orDash(fmt.Sprint(v))
}

func (s style) time(t time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case s.terminal:
		return t.Local().Format("2006-01-02 15:04:05")
	}
	return t.UTC().Format(time.RFC3339)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
