package topology

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
)

// running is the first stage of a plan, run in memory.
type running struct {
	t      testing.TB
	stage  *Stage
	tables []*exchange.Table
	handle func(int32, *broker.Record) error
}

func start(t testing.TB, p *Plan, err error) *running {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, stage: p.Stages[0]}
	for _, e := range r.stage.Outs {
		r.tables = append(r.tables, tableFor(t, e.To))
	}
	r.handle = r.stage.Source(r.tables)
	return r
}

func tableFor(t testing.TB, k *Keyed) *exchange.Table {
	t.Helper()
	shape, err := exchange.NewShape(k.Layout, k.Combine)
	if err != nil {
		t.Fatal(err)
	}
	return exchange.NewTable(shape, max(k.Buckets, 1))
}

// feed handles one record, whole or not at all.
func (r *running) feed(value string) error {
	err := r.handle(0, &broker.Record{Value: []byte(value)})
	for _, t := range r.tables {
		if err != nil {
			t.AbortRecord()
		} else if err := t.CommitRecord(); err != nil {
			return err
		}
	}
	return err
}

// entries are those of the i-th table: key and cells as text.
func (r *running) entries(i int) []string {
	return entriesOf(r.tables[i], r.stage.Outs[i].To.Layout)
}

func entriesOf(t *exchange.Table, layout exchange.Layout) []string {
	var found []string
	for b := range t.Buckets() {
		for e := range t.Bucket(runtime.Bucket(b)).All() {
			found = append(found, exchange.FormatKey(e.Key)+cellWords(e, layout))
		}
	}
	slices.Sort(found)
	return found
}

func cellWords(e *exchange.Entry, layout exchange.Layout) string {
	var b strings.Builder
	for i, kind := range layout {
		switch kind {
		case exchange.AddInt, exchange.MinInt, exchange.MaxInt:
			fmt.Fprintf(&b, " %d", e.Int(i))
		case exchange.AddFloat, exchange.MinFloat, exchange.MaxFloat:
			fmt.Fprintf(&b, " %g", e.Float(i))
		default:
			fmt.Fprintf(&b, " %s", e.Bytes(i))
		}
	}
	return b.String()
}

func wantEntries(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// one is a topology of a single spout and the operators given, as YAML.
func one(spout, operators string) (*Plan, error) {
	return Parse("test.yaml", []byte("topology: test\nspouts:\n  in: {topic: in, "+spout+"}\noperators:\n  "+
		strings.ReplaceAll(operators, "\n", "\n  ")+"\n"))
}
