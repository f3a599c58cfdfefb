package topology

import (
	"encoding/json"
	"fmt"

	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

// ReduceTo keeps an accumulator by group, folded tuple by tuple in memory: what no other aggregate can
// say. The tuples travel one by one, encoded (see Codec), and the row is read before it is written, so
// it costs several times more than the others. The column is bigint, double, text or numeric for an A
// of int64, float64, string or Numeric, else jsonb, where A goes through encoding/json.
//
// init makes the accumulator of a new group. f may change it, must be a pure function of its
// arguments, and runs concurrently for different groups. Its error makes the tuple a dead letter.
func ReduceTo[T, A any](column string, init func() A, f func(acc A, tuple T) (A, error)) Aggregate[T] {
	load, store, kind := rowCodec[A]()
	return Aggregate[T]{
		column: state.Aggregate{Name: column, Fold: state.FoldReduce, Type: kind},
		step: func(old any, tuple T) (any, error) {
			acc := init()
			if old != nil {
				var err error
				if acc, err = load(old); err != nil {
					return nil, fmt.Errorf("reading %s: %w", column, err)
				}
			}
			acc, err := f(acc, tuple)
			if err != nil {
				return nil, fmt.Errorf("reducing %s: %w", column, err)
			}
			return store(acc)
		},
	}
}

// rowCodec tells how an accumulator is stored.
func rowCodec[A any]() (load func(any) (A, error), store func(A) (any, error), kind state.ColumnType) {
	plain := func(v any) (A, error) { return v.(A), nil }
	same := func(a A) (any, error) { return a, nil }
	var zero A
	switch any(zero).(type) {
	case int64:
		return plain, same, state.Bigint
	case float64:
		return plain, same, state.Double
	case string:
		return plain, same, state.Text
	case Numeric:
		load = func(v any) (A, error) { return any(Numeric(v.(string))).(A), nil }
		return load, func(a A) (any, error) { return settled(a) }, state.Numeric
	}
	load = func(v any) (a A, err error) { return a, json.Unmarshal([]byte(v.(string)), &a) }
	store = func(a A) (any, error) {
		text, err := json.Marshal(a)
		return string(text), err
	}
	return load, store, state.JSONB
}

// Codec encodes the tuples of a grouped stream on their way to a ReduceTo. The zero Codec is
// encoding/json, which keeps exported fields only.
type Codec[T any] struct {
	// Append appends an encoded tuple to dst.
	Append func(dst []byte, tuple T) ([]byte, error)
	// Decode is its inverse. It is safe for concurrent use and keeps nothing of data.
	Decode func(data []byte) (T, error)
}

// With sets the codec of the group's tuples.
func (g Grouped[T]) With(codec Codec[T]) Grouped[T] {
	g.codec = codec
	return g
}

func (c Codec[T]) orJSON() Codec[T] {
	if c.Append == nil {
		c.Append = func(dst []byte, tuple T) ([]byte, error) {
			data, err := json.Marshal(tuple)
			return append(dst, data...), err
		}
	}
	if c.Decode == nil {
		c.Decode = func(data []byte) (tuple T, err error) { return tuple, json.Unmarshal(data, &tuple) }
	}
	return c
}

// reduceTuples makes the Reduce of a table whose tuples travel one by one.
func reduceTuples[T any](codec Codec[T], aggregates []Aggregate[T]) Reduce {
	return func(_ []byte, old []any, e exchange.Entry) ([]any, error) {
		tuple, err := codec.Decode(e.Bytes(0))
		if err != nil {
			return nil, fmt.Errorf("decoding a tuple: %w", err)
		}
		row := make([]any, len(aggregates))
		for i, a := range aggregates {
			if row[i], err = a.step(at(old, i), tuple); err != nil {
				return nil, err
			}
		}
		return row, nil
	}
}

// reduceCells makes the Reduce of a table that folds, for readers of its new values.
func reduceCells(values []state.Aggregate) Reduce {
	return func(_ []byte, old []any, e exchange.Entry) ([]any, error) {
		row := make([]any, len(values))
		for i, v := range values {
			var err error
			if row[i], err = combineValues(v.Fold, at(old, i), partial(&e, i, v.Type)); err != nil {
				return nil, fmt.Errorf("folding %s: %w", v.Name, err)
			}
		}
		return row, nil
	}
}

func at(row []any, i int) any {
	if row == nil {
		return nil
	}
	return row[i]
}
