package memory

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/apd/v3"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// SQLSTATEs that the twin answers with where Postgres does.
const (
	stateRange = "22003"
	stateText  = "22021"
)

// foldEntry is the row after an entry is folded in, by the rule of the table's kind.
func foldEntry(f *store.Fold, old store.Row, e *exchange.Entry) (store.Row, error) {
	t := f.Table
	if err := checkKey(e.Key); err != nil {
		return old, &store.DataError{Operator: runtime.OperatorID(t.Operator), Bucket: f.Bucket, Code: stateText, Err: err}
	}
	row := store.Row{Found: true, TxID: f.TxID}
	base := old.Value
	switch t.Kind {
	case state.NonTransactional:
		row.TxID = 0
	case state.Transactional:
		if err := behind(t, f.Bucket, e.Key, old, f.TxID); err != nil || old.Found && old.TxID == f.TxID {
			return old, err
		}
	case state.Opaque:
		if err := behind(t, f.Bucket, e.Key, old, f.TxID); err != nil {
			return old, err
		}
		row.Prev, row.PrevFound = old.Value, old.Found
		if old.Found && old.TxID == f.TxID {
			row.Prev, row.PrevFound = old.Prev, old.PrevFound
		}
		base = row.Prev
	}
	var err error
	if row.Value, err = foldCells(t, base, e); err != nil {
		return old, &store.DataError{Operator: runtime.OperatorID(t.Operator), Bucket: f.Bucket, Code: codeOf(err), Err: err}
	}
	return row, nil
}

func codeOf(err error) string {
	if errors.Is(err, state.ErrOverflow) {
		return stateRange
	}
	return stateText
}

// foldCells folds the cells of an entry into the stored values: one of each aggregate, of an avg a
// sum and a count. base is nil where there is no row.
func foldCells(t *state.Table, base []any, e *exchange.Entry) ([]any, error) {
	var values []any
	add := func(fold state.Fold, typ state.ColumnType) error {
		i := len(values)
		var old any
		if base != nil {
			old = base[i]
		}
		value, err := foldValue(fold, old, cell(e, i, typ))
		if err != nil {
			return fmt.Errorf("folding value %d: %w", i+1, err)
		}
		values = append(values, value)
		return nil
	}
	for _, v := range t.Values {
		fold := v.Fold
		if fold == state.FoldAvg {
			fold = state.FoldSum
		}
		if err := add(fold, v.Type); err != nil {
			return nil, err
		}
		if v.Fold == state.FoldAvg {
			if err := add(state.FoldCount, state.Bigint); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

// decimal is the text of a numeric, so that it is not compared as a text.
type decimal string

func cell(e *exchange.Entry, i int, typ state.ColumnType) any {
	switch {
	case e.Null(i):
		return nil
	case typ == state.Bigint:
		return e.Int(i)
	case typ == state.Double:
		return e.Float(i)
	case typ == state.Numeric:
		return decimal(e.Bytes(i))
	}
	return string(e.Bytes(i))
}

// foldValue is the SQL aggregate of a stored value and a partial one; nulls count for nothing.
func foldValue(fold state.Fold, old, part any) (any, error) {
	if text, ok := part.(string); ok {
		if err := exchange.CheckText(text); err != nil {
			return nil, err
		}
	}
	if part == nil {
		if old == nil && fold == state.FoldCount {
			return int64(0), nil
		}
		return old, nil
	}
	if old == nil {
		if d, ok := part.(decimal); ok {
			return string(d), nil
		}
		return part, nil
	}
	switch part := part.(type) {
	case int64:
		return foldNumbers(fold, old.(int64), part)
	case float64:
		return foldNumbers(fold, old.(float64), part)
	case decimal:
		return foldDecimals(fold, old.(string), string(part))
	}
	return pick(fold, old.(string), part.(string)), nil
}

func foldNumbers[N int64 | float64](fold state.Fold, old, part N) (any, error) {
	switch fold {
	case state.FoldMin:
		return state.Min[N, N]{}.Combine(old, part)
	case state.FoldMax:
		return state.Max[N, N]{}.Combine(old, part)
	}
	return state.Sum[N, N]{}.Combine(old, part)
}

func foldDecimals(fold state.Fold, old, part string) (any, error) {
	var a, b, sum apd.Decimal
	_, _, errA := a.SetString(old)
	_, _, errB := b.SetString(part)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	switch order := b.Cmp(&a); {
	case fold == state.FoldMin && order < 0, fold == state.FoldMax && order > 0:
		return part, nil
	case fold == state.FoldMin, fold == state.FoldMax:
		return old, nil
	}
	_, err := apd.BaseContext.Add(&sum, &a, &b)
	sum.Negative = sum.Negative && !sum.IsZero()
	return sum.Text('f'), err
}

func pick(fold state.Fold, old, part string) string {
	if fold == state.FoldMin {
		return min(old, part)
	}
	return max(old, part)
}

// checkKey refuses texts that Postgres cannot store.
func checkKey(key []byte) error {
	for len(key) > 0 {
		f, rest, err := exchange.NextField(key)
		if err != nil {
			return err
		}
		if f.Kind == exchange.Text {
			if err := exchange.CheckText(string(f.Text())); err != nil {
				return err
			}
		}
		key = rest
	}
	return nil
}
