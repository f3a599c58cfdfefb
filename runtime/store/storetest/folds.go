package storetest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

func runFolds(t *testing.T, h Harness) {
	t.Run("transactional: man, dog and apple at txid 3", workedTransactional(h))
	t.Run("opaque: 4 before 1 at txid 2", workedOpaque(h))
	t.Run("non-transactional rows are folded again", func(t *testing.T) {
		f, table := countFixture(t, h, state.NonTransactional)
		f.fold(table, 1, counts(t, "man", 2))
		f.fold(table, 1, counts(t, "man", 3))
		f.expect(table, "man", store.Row{Found: true, Value: []any{int64(5)}})
	})
	t.Run("a replay of the first batch", func(t *testing.T) {
		for kind, want := range map[state.Kind]int64{state.Transactional: 6, state.Opaque: 2} {
			f, table := countFixture(t, h, kind)
			f.fold(table, 1, counts(t, "man", 6))
			f.fold(table, 1, counts(t, "man", 2))
			f.expect(table, "man", store.Row{Found: true, Value: []any{want}, TxID: 1})
		}
	})
	t.Run("a row of a later batch stops", behind(h))
	for _, kind := range []state.Kind{state.NonTransactional, state.Transactional, state.Opaque} {
		t.Run("all folds and types, "+string(kind), allFolds(h, kind))
	}
	t.Run("data that the database refuses", refusals(h))
	t.Run("buckets do not share rows", func(t *testing.T) {
		f, table := countFixture(t, h, state.Transactional)
		f.must(f.write(store.Writes{Folds: []store.Fold{
			{Table: table, Bucket: 1, TxID: 8, Partials: counts(t, "man", 1)}, {Table: table, Bucket: 0, TxID: 2, Partials: counts(t, "man", 5)},
		}}))
		f.expect(table, "man", store.Row{Found: true, Value: []any{int64(5)}, TxID: 2})
		rows, err := f.ReadRows(f.ctx(), table, 1, [][]byte{text("man")})
		f.must(err)
		if !reflect.DeepEqual(rows[0], store.Row{Found: true, Value: []any{int64(1)}, TxID: 8}) {
			t.Errorf("the row of bucket 1 is %+v", rows[0])
		}
	})
}

// countFixture has a table of counts by word.
func countFixture(t *testing.T, h Harness, kind state.Kind) (*fixture, *state.Table) {
	t.Helper()
	table := &state.Table{
		Operator: "counts", View: "word_counts", Keys: []state.Column{{Name: "word", Type: state.Text}},
		Values: []state.Aggregate{{Name: "count", Fold: state.FoldCount, Type: state.Bigint}}, Kind: kind, Buckets: 2,
	}
	return newFixture(t, h, table), table
}

func text(s string) []byte { return exchange.AppendText(nil, s) }

// partials makes the partial aggregates of one bucket; add adds them to a table.
func partials(t *testing.T, layout exchange.Layout, add func(*exchange.Table)) *exchange.BucketTable {
	t.Helper()
	shape, err := exchange.NewShape(layout, true)
	if err != nil {
		t.Fatal(err)
	}
	table := exchange.NewTable(shape, 1)
	add(table)
	if err := table.CommitRecord(); err != nil {
		t.Fatal(err)
	}
	return table.Bucket(0)
}

// counts are pairs of words and counts.
func counts(t *testing.T, pairs ...any) *exchange.BucketTable {
	t.Helper()
	return partials(t, exchange.Layout{exchange.AddInt}, func(table *exchange.Table) {
		for i := 0; i < len(pairs); i += 2 {
			table.Add(text(pairs[i].(string)), exchange.Int(int64(pairs[i+1].(int))))
		}
	})
}

func (f *fixture) write(w store.Writes) error {
	_, err := f.Commit(f.ctx(), protocol.Commit{Container: f.a}, w)
	return err
}

// fold folds into bucket 0.
func (f *fixture) fold(table *state.Table, txid runtime.TxID, p *exchange.BucketTable) {
	f.t.Helper()
	f.must(f.write(store.Writes{Folds: []store.Fold{{Table: table, TxID: txid, Partials: p}}}))
}

// put sets a row of bucket 0.
func (f *fixture) put(table *state.Table, word string, row store.Row) {
	f.t.Helper()
	f.must(f.write(store.Writes{Rows: []store.RowWrite{{Table: table, Keys: [][]byte{text(word)}, Rows: []store.Row{row}}}}))
}

// expect compares a row of bucket 0.
func (f *fixture) expect(table *state.Table, word string, want store.Row) {
	f.t.Helper()
	rows, err := f.ReadRows(f.ctx(), table, 0, [][]byte{text(word)})
	f.must(err)
	if !sameRow(rows[0], want) {
		f.t.Errorf("the row of %q is %+v, want %+v", word, rows[0], want)
	}
}

// sameRow compares rows; all NaNs are equal.
func sameRow(a, b store.Row) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }

func workedTransactional(h Harness) func(*testing.T) {
	return func(t *testing.T) {
		f, table := countFixture(t, h, state.Transactional)
		f.put(table, "man", store.Row{Value: []any{int64(3)}, TxID: 1})
		f.put(table, "dog", store.Row{Value: []any{int64(4)}, TxID: 3})
		f.put(table, "apple", store.Row{Value: []any{int64(10)}, TxID: 2})
		f.fold(table, 3, counts(t, "man", 1, "man", 1, "dog", 1))
		f.expect(table, "man", store.Row{Found: true, Value: []any{int64(5)}, TxID: 3})
		f.expect(table, "dog", store.Row{Found: true, Value: []any{int64(4)}, TxID: 3})
		f.expect(table, "apple", store.Row{Found: true, Value: []any{int64(10)}, TxID: 2})
	}
}

func workedOpaque(h Harness) func(*testing.T) {
	return func(t *testing.T) {
		for txid, want := range map[runtime.TxID]store.Row{
			3: {Found: true, Value: []any{int64(6)}, Prev: []any{int64(4)}, PrevFound: true, TxID: 3},
			2: {Found: true, Value: []any{int64(3)}, Prev: []any{int64(1)}, PrevFound: true, TxID: 2},
		} {
			f, table := countFixture(t, h, state.Opaque)
			f.put(table, "man", store.Row{Value: []any{int64(4)}, Prev: []any{int64(1)}, PrevFound: true, TxID: 2})
			f.fold(table, txid, counts(t, "man", 2))
			f.expect(table, "man", want)
		}
	}
}

// behind: the error wins over an overflow in the same row, and nothing of the commit happens.
func behind(h Harness) func(*testing.T) {
	return func(t *testing.T) {
		for _, kind := range []state.Kind{state.Transactional, state.Opaque} {
			f, table := countFixture(t, h, kind)
			later := store.Row{Found: true, Value: []any{int64(math.MaxInt64)}, TxID: 9}
			f.put(table, "man", later)
			err := f.write(store.Writes{Folds: []store.Fold{{Table: table, TxID: 8, Partials: counts(t, "dog", 1, "man", 1)}}})
			var behind *store.TxIDBehindError
			if !errors.As(err, &behind) || behind.Operator != "counts" || behind.Bucket != 0 || behind.Row != 9 || behind.Own != 8 {
				t.Fatalf("%s: got %v", kind, err)
			}
			f.expect(table, "man", later)
			f.expect(table, "dog", store.Row{})
		}
	}
}
