package topology

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a topology, with what to do about it.
type Problem struct {
	// File is the name given to Parse; for a topology built in Go its own name.
	File string
	// Line and Column count from 1; 0 where there is no text to point at.
	Line, Column int
	Message      string
}

func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("topology %s: %s", p.File, p.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Problems are all the problems found, in the order of the text, one a line.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// place is a position in a topology file; the zero place is none.
type place struct{ line, column int }

// report collects problems about one topology.
type report struct {
	file  string
	found Problems
}

func (r *report) add(at place, format string, args ...any) {
	p := Problem{File: r.file, Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(r.found, p) {
		r.found = append(r.found, p)
	}
}

// err answers with what was found, nil if nothing was.
func (r *report) err() error {
	if len(r.found) == 0 {
		return nil
	}
	slices.SortStableFunc(r.found, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return r.found
}
