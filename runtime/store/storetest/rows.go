package storetest

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

func runRows(t *testing.T, h Harness) {
	t.Run("come back in the order of the keys", func(t *testing.T) {
		f, table := countFixture(t, h, state.Transactional)
		f.put(table, "b", store.Row{Value: []any{int64(2)}, TxID: 1})
		f.put(table, "a", store.Row{Value: []any{int64(1)}, TxID: 1})
		rows, err := f.ReadRows(f.ctx(), table, 0, [][]byte{text("b"), text("missing"), text("a"), text("b")})
		f.must(err)
		for i, want := range []any{int64(2), nil, int64(1), int64(2)} {
			if rows[i].Found != (want != nil) || rows[i].Found && rows[i].Value[0] != want {
				t.Errorf("row %d is %+v, want %v", i, rows[i], want)
			}
		}
		if rows, err := f.ReadRows(f.ctx(), table, 0, nil); err != nil || len(rows) != 0 {
			t.Errorf("the rows of no keys are %v, %v", rows, err)
		}
	})
	t.Run("all types of keys and values", everyType(h))
	t.Run("without keys are one row", func(t *testing.T) {
		table := &state.Table{
			Operator: "total", Values: []state.Aggregate{{Name: "n", Fold: state.FoldCount, Type: state.Bigint}}, Kind: state.Transactional, Buckets: 1,
		}
		f := newFixture(t, h, table)
		add := partials(t, exchange.Layout{exchange.AddInt}, func(p *exchange.Table) { p.Add(nil, exchange.Int(4)) })
		f.fold(table, 1, add)
		f.fold(table, 2, add)
		rows, err := f.ReadRows(f.ctx(), table, 0, [][]byte{nil})
		f.must(err)
		if !reflect.DeepEqual(rows, []store.Row{{Found: true, Value: []any{int64(8)}, TxID: 2}}) {
			t.Errorf("the row is %+v", rows)
		}
	})
	t.Run("of an opaque table tell a null before from no row before", func(t *testing.T) {
		f, table := countFixture(t, h, state.Opaque)
		f.put(table, "was null", store.Row{Value: []any{int64(1)}, Prev: []any{nil}, PrevFound: true, TxID: 2})
		f.put(table, "was not", store.Row{Value: []any{nil}, TxID: 2})
		f.expect(table, "was null", store.Row{Found: true, Value: []any{int64(1)}, Prev: []any{nil}, PrevFound: true, TxID: 2})
		f.expect(table, "was not", store.Row{Found: true, Value: []any{nil}, TxID: 2})
	})
	t.Run("of a later batch stop", func(t *testing.T) {
		f, table := countFixture(t, h, state.Transactional)
		later := store.Row{Found: true, Value: []any{int64(1)}, TxID: 9}
		f.put(table, "man", later)
		err := f.write(store.Writes{Rows: []store.RowWrite{{Table: table, Keys: [][]byte{text("man")}, Rows: []store.Row{{Value: []any{int64(2)}, TxID: 8}}}}})
		var behind *store.TxIDBehindError
		if !errors.As(err, &behind) {
			t.Errorf("got %v", err)
		}
		f.expect(table, "man", later)
	})
	t.Run("that the database refuses are named", func(t *testing.T) {
		table := &state.Table{
			Operator: "last", Keys: []state.Column{{Name: "k", Type: state.Text}},
			Values: []state.Aggregate{{Name: "v", Fold: state.FoldReduce, Type: state.Text}}, Kind: state.Transactional, Buckets: 1,
		}
		f := newFixture(t, h, table)
		w := store.Writes{Rows: []store.RowWrite{{
			Table: table, Keys: [][]byte{text("a"), text("b"), text("c")},
			Rows: []store.Row{{Value: []any{"x"}, TxID: 1}, {Value: []any{"x\x00"}, TxID: 1}, {Value: []any{"\xff"}, TxID: 1}},
		}}}
		var data *store.DataError
		if err := f.write(w); !errors.As(err, &data) || data.Operator != "last" {
			t.Fatalf("got %v", err)
		}
		found, err := f.Refused(f.ctx(), w)
		f.must(err)
		if len(found) != 2 || string(found[0].Key) != string(text("b")) || string(found[1].Key) != string(text("c")) {
			t.Errorf("refused are %+v", found)
		}
		f.expect(table, "a", store.Row{})
	})
}

func everyType(h Harness) func(*testing.T) {
	return func(t *testing.T) {
		table := &state.Table{
			Operator: "types", View: "Types", Kind: state.Opaque, Buckets: 1,
			Keys: []state.Column{
				{Name: "Text", Type: state.Text}, {Name: "int", Type: state.Bigint}, {Name: "double", Type: state.Double}, {Name: "bool", Type: state.Boolean},
			},
			Values: []state.Aggregate{
				{Name: "i", Fold: state.FoldReduce, Type: state.Bigint},
				{Name: "d", Fold: state.FoldReduce, Type: state.Double},
				{Name: "n", Fold: state.FoldReduce, Type: state.Numeric},
				{Name: "t", Fold: state.FoldReduce, Type: state.Text},
				{Name: "j", Fold: state.FoldReduce, Type: state.JSONB},
			},
		}
		f := newFixture(t, h, table)
		key := func(s string, i int64, d float64, b bool) []byte {
			return exchange.AppendBool(exchange.AppendFloat(exchange.AppendInt(exchange.AppendText(nil, s), i), d), b)
		}
		keys := [][]byte{
			key("", 0, 0, false), key("", 0, 0, true), key("犬", math.MinInt64, math.Inf(-1), true), key(`"'\,{}`, math.MaxInt64, math.NaN(), false),
		}
		rows := []store.Row{
			{Value: []any{int64(1), 0.1, "1.10", "", `{"a": [1, null]}`}, TxID: 3},
			{Value: []any{nil, nil, nil, nil, nil}, TxID: 3},
			{Value: []any{int64(math.MinInt64), math.Inf(1), "-12345678901234567890.5", "NULL", `"x"`}, Prev: []any{int64(7), 2.5, "0", "{}", `null`}, PrevFound: true, TxID: 3},
			{Value: []any{int64(0), math.NaN(), "0", `\x00`, `{}`}, Prev: []any{nil, nil, nil, nil, nil}, PrevFound: true, TxID: 3},
		}
		f.must(f.write(store.Writes{Rows: []store.RowWrite{{Table: table, Keys: keys, Rows: rows}}}))
		got, err := f.ReadRows(f.ctx(), table, 0, keys)
		f.must(err)
		for i := range rows {
			rows[i].Found = true
			for _, values := range [][]any{rows[i].Value, got[i].Value, rows[i].Prev, got[i].Prev} {
				compactJSON(t, values)
			}
			if !sameRow(got[i], rows[i]) {
				t.Errorf("row %d is %+v, want %+v", i, got[i], rows[i])
			}
		}
	}
}

// compactJSON gives the last value one spelling.
func compactJSON(t *testing.T, values []any) {
	t.Helper()
	if values == nil || values[4] == nil {
		return
	}
	var v any
	if err := json.Unmarshal([]byte(values[4].(string)), &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	values[4] = string(text)
}

func runLetters(t *testing.T, h Harness) {
	f := newFixture(t, h)
	letters := []store.DeadLetter{
		{
			Operator: "parse", Input: src0, TxID: 1, Topic: "lines", Partition: 0, Offset: 17, Attempts: 3,
			Error: "no column", Key: []byte{0, 255}, Payload: []byte("a\x00b"), Timestamp: 1_700_000_000_123,
		},
		{Operator: "parse", Input: src0, TxID: 1, Partition: -1, Offset: -1, Attempts: 1, Error: "as it was: \xff and \x00"},
		{Operator: "parse", Input: src1, TxID: 1, Topic: "lines", Partition: 1, Offset: 4, Error: "a time beyond all times", Timestamp: math.MaxInt64},
	}
	_, err := f.Commit(f.ctx(), commitOf(f, src0, src1), store.Writes{DeadLetters: letters})
	f.must(err)
	lost := commitOf(f, src0)
	lost.Moves[0].Epoch = 9
	_, err = f.Commit(f.ctx(), lost, store.Writes{DeadLetters: letters[:1]})
	if err == nil {
		t.Fatal("a lost commit was not refused")
	}
	got := h.Letters(t, f.Subject)
	if len(got) != len(letters) {
		t.Fatalf("there are %d letters, want %d", len(got), len(letters))
	}
	if !reflect.DeepEqual(got[0], letters[0]) {
		t.Errorf("the letter is\n%+v, want\n%+v", got[0], letters[0])
	}
	if got[1].Offset != -1 || got[1].Partition != -1 || got[1].Payload != nil {
		t.Errorf("the letter of an entry is %+v", got[1])
	}
	if got[2].Input != src1 || got[2].Offset != 4 {
		t.Errorf("the letter of the other input is %+v", got[2])
	}
}

func commitOf(f *fixture, ins ...runtime.Input) protocol.Commit {
	c := protocol.Commit{Container: f.a}
	for _, in := range ins {
		row := f.row(in)
		c.Moves = append(c.Moves, protocol.Move{Input: in, Epoch: row.Epoch, TxID: row.TxID + 1})
	}
	return c
}
