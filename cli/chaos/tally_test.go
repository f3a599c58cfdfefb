//go:build kafka

package chaos

import (
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/selfregulating/sr/cli/render"
)

// counts are what the suite has done, for the table at its end.
type counts struct {
	mu      sync.Mutex
	begun   time.Time
	cells   map[string]*cellCounts
	kills   map[string]int
	faults  map[string]int
	records int64
}

type cellCounts struct {
	records int64
	kills   int
	took    time.Duration
}

var tally = &counts{begun: time.Now(), cells: map[string]*cellCounts{}, kills: map[string]int{}, faults: map[string]int{}}

func (c *counts) cell(name string) *cellCounts {
	if c.cells[name] == nil {
		c.cells[name] = new(cellCounts)
	}
	return c.cells[name]
}

func (c *counts) fed(cell string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records += n
	c.cell(cell).records += n
}

func (c *counts) killed(cell, at string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kills[at]++
	c.cell(cell).kills++
}

func (c *counts) fault(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[name]++
}

func (c *counts) checked(cell string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cell(cell).took += took
}

// print writes the tables. Without a cell there are none.
func (c *counts) print(to io.Writer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cells) == 0 {
		return nil
	}
	cells := render.Section{Title: "cells", Columns: []string{"cell", "records", "kills", "seconds"}}
	kills := 0
	for _, name := range slices.Sorted(maps.Keys(c.cells)) {
		one := c.cells[name]
		cells.Rows = append(cells.Rows, []any{name, one.records, one.kills, int(one.took.Seconds())})
		kills += one.kills
	}
	cells.Rows = append(cells.Rows, []any{"in all", c.records, kills, int(time.Since(c.begun).Seconds())})
	return render.NewPrinter(to, render.Table).Print(render.Answer{Sections: []render.Section{
		cells, table("killed at", c.kills), table("fault", c.faults),
	}})
}

func table(of string, times map[string]int) render.Section {
	s := render.Section{Title: of, Columns: []string{of, "times"}}
	for _, name := range slices.Sorted(maps.Keys(times)) {
		s.Rows = append(s.Rows, []any{name, times[name]})
	}
	return s
}
