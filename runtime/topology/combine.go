package topology

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/apd/v3"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

// stored is a value as a state row holds it: int64, float64, or string for text and numeric.
func stored(v any) any {
	switch v := v.(type) {
	case Numeric:
		return v
	case string:
		return strings.Clone(v)
	}
	return v
}

// combineValues folds a partial value into the stored one, nil if there is none.
func combineValues(f state.Fold, old, part any) (any, error) {
	if old == nil {
		return settled(part)
	}
	switch part := part.(type) {
	case int64:
		return combineOrdered(f, old.(int64), part)
	case float64:
		return combineOrdered(f, old.(float64), part)
	case Numeric:
		return combineNumeric(f, old.(string), string(part))
	case string:
		if (part < old.(string)) == (f == state.FoldMin) {
			return part, nil
		}
		return old, nil
	}
	return nil, fmt.Errorf("folding a %T: no such value", part)
}

// settled is the stored form of the first partial value of a key.
func settled(part any) (any, error) {
	n, numeric := part.(Numeric)
	if !numeric {
		return part, nil
	}
	text, err := exchange.AppendNumeric(nil, bytesOf(string(n)))
	return string(text), err
}

func combineOrdered[N int64 | float64](f state.Fold, old, part N) (any, error) {
	var v N
	var err error
	switch f {
	case state.FoldMin:
		v, err = state.Min[N, N]{}.Combine(old, part)
	case state.FoldMax:
		v, err = state.Max[N, N]{}.Combine(old, part)
	default:
		v, err = state.Sum[N, N]{}.Combine(old, part)
	}
	return v, err
}

func combineNumeric(f state.Fold, old, part string) (any, error) {
	var a, b, sum apd.Decimal
	_, _, errA := a.SetString(old)
	_, _, errB := b.SetString(part)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	if f == state.FoldSum {
		_, err := apd.BaseContext.Add(&sum, &a, &b)
		return sum.Text('f'), err
	}
	if (b.Cmp(&a) < 0) == (f == state.FoldMin) {
		return b.Text('f'), nil
	}
	return old, nil
}

// partial is the value of an aggregate in an entry whose cell at is its.
func partial(e *exchange.Entry, at int, t state.ColumnType) any {
	switch t {
	case state.Bigint:
		return e.Int(at)
	case state.Double:
		return e.Float(at)
	case state.Numeric:
		return Numeric(e.Bytes(at))
	}
	return string(e.Bytes(at))
}
