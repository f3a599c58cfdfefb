//go:build kafka

package chaos

import (
	"context"
	"fmt"
	"strings"

	"github.com/selfregulating/sr/cli/chaos/cell"
	"github.com/selfregulating/sr/runtime/topology"
)

// check compares the tables with the truth, and looks at what a run leaves behind. Nothing may run.
func (w *world) check() {
	w.t.Helper()
	bad := &complaints{}
	w.checkIDs(bad, "ids")
	if w.cell.Shape == cell.Chain {
		w.checkIDs(bad, "first")
	}
	if w.cell.Promise() == topology.ExactlyOnce {
		w.checkGroups(bad)
	}
	w.checkRows(bad)
	w.checkEnds(bad)
	if text := bad.String(); text != "" {
		w.t.Fatalf("%s is wrong after %d records:\n%s", w.cell, w.fed(), text)
	}
}

// complaints keeps the first few, and counts all.
type complaints struct {
	first []string
	n     int
}

func (c *complaints) add(format string, args ...any) {
	if c.n++; c.n <= 12 {
		c.first = append(c.first, fmt.Sprintf(format, args...))
	}
}

func (c *complaints) String() string {
	if c.n > len(c.first) {
		c.first = append(c.first, fmt.Sprintf("and %d more", c.n-len(c.first)))
	}
	return strings.Join(c.first, "\n")
}

// checkIDs scans a table id by id: every id that was fed has the count that the cell promises, and
// nothing else is there.
func (w *world) checkIDs(bad *complaints, table string) {
	w.t.Helper()
	seen := make([][]bool, len(w.next))
	for p, n := range w.next {
		seen[p] = make([]bool, n)
	}
	var id string
	var n int64
	w.each("SELECT id, n FROM "+table, []any{&id, &n}, func() {
		p, k, err := cell.ParseID(id)
		switch {
		case err != nil:
			bad.add("%s: %v", table, err)
		case int(p) >= len(seen) || k >= int64(len(seen[p])):
			bad.add("%s: %s was never fed, but has the count %d", table, id, n)
		default:
			seen[p][k] = true
			if n != 1 && w.cell.Promise() != topology.AtLeast {
				bad.add("%s: %s has the count %d, want 1", table, id, n)
			}
		}
	})
	if w.cell.Promise() == topology.AtMost {
		return
	}
	for p := range seen {
		for k, there := range seen[p] {
			if !there && !w.mayMiss(p, int64(k)) {
				bad.add("%s: %s is missing", table, cell.ID(int32(p), int64(k)))
			}
		}
	}
}

// mayMiss tells whether a record was deleted before it could be counted.
func (w *world) mayMiss(p int, k int64) bool { return p < len(w.forgotten) && k < w.forgotten[p] }

type group struct{ n, weight int64 }

// checkGroups compares the table in which many ids meet in a row with the ids that are counted.
func (w *world) checkGroups(bad *complaints) {
	w.t.Helper()
	want := map[string]group{}
	var id string
	w.each("SELECT id FROM ids", []any{&id}, func() {
		g := want[cell.Group(id)]
		want[cell.Group(id)] = group{g.n + 1, g.weight + cell.Weight(id)}
	})
	var name string
	var got group
	w.each("SELECT name, n, weight FROM groups", []any{&name, &got.n, &got.weight}, func() {
		if got != want[name] {
			bad.add("groups: %s is %+v, want %+v", name, got, want[name])
		}
		delete(want, name)
	})
	for name, g := range want {
		bad.add("groups: %s is missing, want %+v", name, g)
	}
}

// checkRows looks at the rows of the protocol after a drained run.
func (w *world) checkRows(bad *complaints) {
	w.t.Helper()
	for _, c := range []struct{ what, sql string }{
		{"dead letters", `SELECT count(*) FROM sr.dead_letter`},
		{"writers left open", `SELECT count(*) FROM sr.writer WHERE NOT closed`},
		{"inputs with an owner", `SELECT count(*) FROM sr.progress WHERE owner IS NOT NULL`},
		{"containers not fenced", `SELECT count(*) FROM sr.container WHERE NOT fenced`},
		{"open descriptors", `SELECT count(*) FROM sr.descriptor d JOIN sr.progress p USING (topology, operator, partition) WHERE d.txid > p.txid`},
		{"writers that receivers are ahead of", `
			SELECT count(*) FROM sr.progress p, jsonb_each_text(p.applied) a
			JOIN sr.writer w ON w.writer = a.key::uuid WHERE a.value::bigint > w.committed_seq`},
	} {
		if n := w.one(c.sql); n != 0 {
			bad.add("%s: %d, want 0", c.what, n)
		}
	}
}

// checkEnds compares the progress with the ends of the topics.
func (w *world) checkEnds(bad *complaints) {
	w.t.Helper()
	topics := map[string]string{"source": w.topic}
	var topologyID, operator string
	var partition int32
	var position int64
	type at struct {
		topic     string
		partition int32
	}
	positions := map[at]int64{}
	w.each(`SELECT topology, operator, partition, position FROM sr.progress`, []any{&topologyID, &operator, &partition, &position}, func() {
		if operator != "source" {
			topics[operator] = exchangeTopic(topologyID, operator)
		}
		positions[at{topics[operator], partition}] = position
	})
	for _, topic := range topics {
		ends, err := w.adm.ListEndOffsets(context.Background(), topic)
		must(w.t, err)
		for p, end := range ends[topic] {
			must(w.t, end.Err)
			if got := positions[at{topic, p}]; got != end.Offset {
				bad.add("progress of %s[%d] is %d, but the topic ends at %d", topic, p, got, end.Offset)
			}
		}
	}
}

func exchangeTopic(topologyID, operator string) string {
	name, hex, _ := strings.Cut(topologyID, ".")
	return fmt.Sprintf("sr.%s.%s.%s", name, operator, hex)
}
