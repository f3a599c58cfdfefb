package storetest

import (
	"errors"
	"math"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// everyFold has one value column for every fold and type, and everyLayout its cells.
func everyFold(kind state.Kind) *state.Table {
	return &state.Table{
		Operator: "every", View: "every", Kind: kind, Buckets: 1,
		Keys: []state.Column{{Name: "word", Type: state.Text}},
		Values: []state.Aggregate{
			{Name: "count", Fold: state.FoldCount, Type: state.Bigint},
			{Name: "sum_i", Fold: state.FoldSum, Type: state.Bigint},
			{Name: "sum_d", Fold: state.FoldSum, Type: state.Double},
			{Name: "sum_n", Fold: state.FoldSum, Type: state.Numeric},
			{Name: "min_i", Fold: state.FoldMin, Type: state.Bigint},
			{Name: "min_d", Fold: state.FoldMin, Type: state.Double},
			{Name: "min_n", Fold: state.FoldMin, Type: state.Numeric},
			{Name: "min_t", Fold: state.FoldMin, Type: state.Text},
			{Name: "max_i", Fold: state.FoldMax, Type: state.Bigint},
			{Name: "max_d", Fold: state.FoldMax, Type: state.Double},
			{Name: "max_n", Fold: state.FoldMax, Type: state.Numeric},
			{Name: "max_t", Fold: state.FoldMax, Type: state.Text},
			{Name: "Avg_d", Fold: state.FoldAvg, Type: state.Double},
			{Name: "avg_n", Fold: state.FoldAvg, Type: state.Numeric},
		},
	}
}

var everyLayout = exchange.Layout{
	exchange.AddInt,
	exchange.AddInt | exchange.Nullable, exchange.AddFloat | exchange.Nullable, exchange.AddNumeric | exchange.Nullable,
	exchange.MinInt | exchange.Nullable, exchange.MinFloat | exchange.Nullable, exchange.MinNumeric | exchange.Nullable, exchange.MinText | exchange.Nullable,
	exchange.MaxInt | exchange.Nullable, exchange.MaxFloat | exchange.Nullable, exchange.MaxNumeric | exchange.Nullable, exchange.MaxText | exchange.Nullable,
	exchange.AddFloat | exchange.Nullable, exchange.AddInt,
	exchange.AddNumeric | exchange.Nullable, exchange.AddInt,
}

// one is the entry of one tuple: in every column the number i, d or n, or the text s.
func one(i int64, d float64, n, s string) []exchange.Cell {
	in, do, nu, te := exchange.Int(i), exchange.Float(d), exchange.Bytes([]byte(n)), exchange.Bytes([]byte(s))
	return []exchange.Cell{exchange.Int(1), in, do, nu, in, do, nu, te, in, do, nu, te, do, exchange.Int(1), nu, exchange.Int(1)}
}

// none is the entry of one tuple whose values are all null.
func none() []exchange.Cell {
	cells := make([]exchange.Cell, len(everyLayout))
	for i := range cells {
		cells[i] = exchange.Null()
	}
	cells[0], cells[13], cells[15] = exchange.Int(1), exchange.Int(0), exchange.Int(0)
	return cells
}

func allFolds(h Harness, kind state.Kind) func(*testing.T) {
	return func(t *testing.T) {
		table := everyFold(kind)
		f := newFixture(t, h, table)
		nan := math.NaN()
		var before []any
		for i, step := range []struct {
			cells []exchange.Cell
			want  []any
		}{
			{none(), []any{int64(1), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, int64(0), nil, int64(0)}},
			{
				one(5, 1.5, "9.50", "b"),
				[]any{int64(2), int64(5), 1.5, "9.50", int64(5), 1.5, "9.50", "b", int64(5), 1.5, "9.50", "b", 1.5, int64(1), "9.50", int64(1)},
			},
			{
				none(),
				[]any{int64(3), int64(5), 1.5, "9.50", int64(5), 1.5, "9.50", "b", int64(5), 1.5, "9.50", "b", 1.5, int64(1), "9.50", int64(1)},
			},
			{
				one(-7, 2.25, "10.125", "B"), // as text 10.125 is below 9.50, and B in no dictionary below b
				[]any{int64(4), int64(-2), 3.75, "19.625", int64(-7), 1.5, "9.50", "B", int64(5), 2.25, "10.125", "b", 3.75, int64(2), "19.625", int64(2)},
			},
			{
				one(1, nan, "-20.0", ""), // NaN is above all numbers, and stays in a sum
				[]any{int64(5), int64(-1), nan, "-0.375", int64(-7), 1.5, "-20.0", "", int64(5), nan, "10.125", "b", nan, int64(3), "-0.375", int64(3)},
			},
			{
				one(0, math.Inf(-1), "0.375", "ü"),
				[]any{int64(6), int64(-1), nan, "0.000", int64(-7), math.Inf(-1), "-20.0", "", int64(5), nan, "10.125", "ü", nan, int64(4), "0.000", int64(4)},
			},
		} {
			entry := partials(t, everyLayout, func(p *exchange.Table) { p.Add(text("k"), step.cells...) })
			want := store.Row{Found: true, Value: step.want}
			txid := runtime.TxID(i + 1)
			f.fold(table, txid, entry)
			if kind != state.NonTransactional {
				want.TxID = txid
			}
			if kind == state.Opaque && i > 0 {
				want.Prev, want.PrevFound = before, true
			}
			f.expect(table, "k", want)
			before = step.want
		}
	}
}

// refusals: a commit with data that cannot be stored changes nothing and says whose data it was, and
// Refused names the entries.
func refusals(h Harness) func(*testing.T) {
	return func(t *testing.T) {
		table := everyFold(state.Transactional)
		f := newFixture(t, h, table)
		full := partials(t, everyLayout, func(p *exchange.Table) { p.Add(text("full"), one(math.MaxInt64, math.MaxFloat64, "1", "x")...) })
		f.fold(table, 1, full)
		for name, bad := range map[string]struct {
			key   string
			cells []exchange.Cell
			code  string
		}{
			"a bigint beyond its range": {"full", one(1, 0, "1", "x"), "22003"},
			"a double beyond its range": {"full", one(0, math.MaxFloat64, "1", "x"), "22003"},
			"a key with NUL":            {"a\x00b", one(1, 1, "1", "x"), "22021"},
			"a key that is not UTF-8":   {"a\xffb", one(1, 1, "1", "x"), "22021"},
			"a text with NUL":           {"good", one(1, 1, "1", "x\x00"), "22021"},
		} {
			t.Run(name, func(t *testing.T) {
				fold := store.Fold{Table: table, TxID: 2, Partials: partials(t, everyLayout, func(p *exchange.Table) {
					p.Add(text("before"), none()...)
					p.Add(text(bad.key), bad.cells...)
					p.Add(text("zz after"), none()...)
				})}
				f.refuses(fold, bad.code, text(bad.key))
			})
		}
	}
}

func (f *fixture) refuses(fold store.Fold, code string, key []byte) {
	f.t.Helper()
	w := store.Writes{Folds: []store.Fold{fold}}
	var data *store.DataError
	before := f.everything()
	_, err := f.Commit(f.ctx(), protocol.Commit{Container: f.a, Moves: []protocol.Move{{Input: src0, Epoch: 1, TxID: 1}}}, w)
	if !errors.As(err, &data) || data.Operator != "every" || data.Bucket != 0 || data.Code != code {
		f.t.Fatalf("got %v, want a DataError with code %s", err, code)
	}
	if f.everything() != before {
		f.t.Error("the progress moved")
	}
	f.expect(fold.Table, "before", store.Row{})
	found, err := f.Refused(f.ctx(), w)
	f.must(err)
	if len(found) != 1 || string(found[0].Key) != string(key) || found[0].Table != fold.Table || found[0].Reason == "" {
		f.t.Errorf("refused are %+v, want key %q", found, key)
	}
	f.expect(fold.Table, "before", store.Row{})
}
