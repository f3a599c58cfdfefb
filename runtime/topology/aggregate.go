package topology

import (
	"strconv"
	"unsafe"

	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

// Number is what can be added up.
type Number interface {
	int64 | float64 | Numeric
}

// Ordered is what has a least and a greatest.
type Ordered interface {
	int64 | float64 | Numeric | string
}

// Aggregate is one value column of a table: what is kept of the tuples of a group.
type Aggregate[T any] struct {
	column state.Aggregate
	// cells are the partial aggregate on its way through the exchange.
	cells exchange.Layout
	// build makes the function of one instance that appends the cells of a tuple. What the cells
	// refer to is valid until its next call.
	build func(checked bool) func(dst []exchange.Cell, tuple T) ([]exchange.Cell, error)
	// step folds one tuple into the stored value, nil if there is none. It is for tables that are
	// read, modified and written, and safe for concurrent use.
	step func(old any, tuple T) (any, error)
}

// Count counts the tuples of a group.
func Count[T any](column string) Aggregate[T] {
	return Aggregate[T]{
		column: state.Aggregate{Name: column, Fold: state.FoldCount, Type: state.Bigint},
		cells:  exchange.Layout{exchange.AddInt},
		build: func(bool) func([]exchange.Cell, T) ([]exchange.Cell, error) {
			one := exchange.Int(1)
			return func(dst []exchange.Cell, _ T) ([]exchange.Cell, error) { return append(dst, one), nil }
		},
		step: func(old any, _ T) (any, error) { return combineValues(state.FoldCount, old, int64(1)) },
	}
}

// Sum adds up. The column has the type of the numbers: bigint, double or numeric. A bigint sum that
// leaves its range makes the record a dead letter.
func Sum[T any, N Number](column string, of func(T) N) Aggregate[T] {
	return fold(column, state.FoldSum, false, infallible(of))
}

// Min keeps the least. NaN is above all numbers, and texts are compared by their bytes.
func Min[T any, N Ordered](column string, of func(T) N) Aggregate[T] {
	return fold(column, state.FoldMin, false, infallible(of))
}

// Max keeps the greatest; see Min.
func Max[T any, N Ordered](column string, of func(T) N) Aggregate[T] {
	return fold(column, state.FoldMax, false, infallible(of))
}

// Avg keeps the mean: double of doubles, numeric of everything exact.
func Avg[T any, N Number](column string, of func(T) N) Aggregate[T] {
	return fold(column, state.FoldAvg, false, infallible(of))
}

func infallible[T, N any](f func(T) N) func() func(T) (N, error) {
	return func() func(T) (N, error) {
		return func(tuple T) (N, error) { return f(tuple), nil }
	}
}

// fold makes an aggregate of a function that is built once an instance; piece is that of by.
func fold[T any, N Ordered](column string, f state.Fold, piece bool, build func() func(T) (N, error)) Aggregate[T] {
	a := Aggregate[T]{column: state.Aggregate{Name: column, Fold: f}}
	switch build := any(build).(type) {
	case func() func(T) (int64, error):
		a.column.Type, a.build = state.Bigint, cellsOf(build, exchange.Int)
		if f == state.FoldAvg {
			a.column.Type, a.build = state.Numeric, decimalCells(build)
		}
	case func() func(T) (float64, error):
		a.column.Type, a.build = state.Double, cellsOf(build, exchange.Float)
	case func() func(T) (Numeric, error):
		a.column.Type = state.Numeric
		a.build = cellsOf(build, func(n Numeric) exchange.Cell { return exchange.Bytes(bytesOf(string(n))) })
	case func() func(T) (string, error):
		a.column.Type = state.Text
		a.build = func(checked bool) func([]exchange.Cell, T) ([]exchange.Cell, error) {
			f := func() func(T) (string, error) { return checkedText(build(), checked && piece) }
			return cellsOf(f, func(s string) exchange.Cell { return exchange.Bytes(bytesOf(s)) })(checked)
		}
	}
	a.cells = exchange.Layout{cellKinds[f][a.column.Type]}
	if f == state.FoldAvg {
		a.cells, a.build = append(a.cells, exchange.AddInt), andOne(a.build)
	}
	a.step = func(old any, tuple T) (any, error) {
		v, err := build()(tuple)
		if err != nil {
			return nil, err
		}
		return combineValues(f, old, stored(v))
	}
	return a
}

// cellKinds tells how partial values of a fold combine. A mean travels as its sum, with a count behind.
var cellKinds = map[state.Fold]map[state.ColumnType]exchange.CellKind{
	state.FoldSum: {state.Bigint: exchange.AddInt, state.Double: exchange.AddFloat, state.Numeric: exchange.AddNumeric},
	state.FoldAvg: {state.Double: exchange.AddFloat, state.Numeric: exchange.AddNumeric},
	state.FoldMin: {
		state.Bigint: exchange.MinInt, state.Double: exchange.MinFloat, state.Numeric: exchange.MinNumeric, state.Text: exchange.MinText,
	},
	state.FoldMax: {
		state.Bigint: exchange.MaxInt, state.Double: exchange.MaxFloat, state.Numeric: exchange.MaxNumeric, state.Text: exchange.MaxText,
	},
}

type cellBuilder[T any] = func(checked bool) func([]exchange.Cell, T) ([]exchange.Cell, error)

func cellsOf[T, N any](build func() func(T) (N, error), cell func(N) exchange.Cell) cellBuilder[T] {
	return func(bool) func([]exchange.Cell, T) ([]exchange.Cell, error) {
		f := build()
		return func(dst []exchange.Cell, tuple T) ([]exchange.Cell, error) {
			v, err := f(tuple)
			if err != nil {
				return dst, err
			}
			return append(dst, cell(v)), nil
		}
	}
}

// decimalCells writes integers as decimals: the sum under a mean must not overflow.
func decimalCells[T any](build func() func(T) (int64, error)) cellBuilder[T] {
	return func(bool) func([]exchange.Cell, T) ([]exchange.Cell, error) {
		f := build()
		var digits []byte
		return func(dst []exchange.Cell, tuple T) ([]exchange.Cell, error) {
			v, err := f(tuple)
			if err != nil {
				return dst, err
			}
			digits = strconv.AppendInt(digits[:0], v, 10)
			return append(dst, exchange.Bytes(digits)), nil
		}
	}
}

// andOne puts a count of one behind the cells.
func andOne[T any](build cellBuilder[T]) cellBuilder[T] {
	return func(checked bool) func([]exchange.Cell, T) ([]exchange.Cell, error) {
		f, one := build(checked), exchange.Int(1)
		return func(dst []exchange.Cell, tuple T) ([]exchange.Cell, error) {
			dst, err := f(dst, tuple)
			return append(dst, one), err
		}
	}
}

// bytesOf reads s as bytes without a copy, for callees that neither keep nor change them.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
