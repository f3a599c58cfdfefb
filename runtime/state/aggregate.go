package state

import (
	"cmp"
	"math"
)

// Reducer folds tuples one by one into an accumulator, which is also the stored value.
type Reducer[T, A any] interface {
	// Init is the accumulator before the first tuple.
	Init() A
	// Reduce adds one tuple. It must not change what acc points to: a replay starts from acc again.
	Reduce(acc A, tuple T) (A, error)
}

// Combiner is an aggregate of partial results, so that most of the work happens before the exchange.
// Combine must be associative and commutative.
type Combiner[T, A any] interface {
	// Init is the aggregate of one tuple.
	Init(tuple T) (A, error)
	// Combine is the aggregate of both.
	Combine(a, b A) (A, error)
	// Zero is the aggregate of no tuple; not Found where there is none, as for a minimum.
	Zero() Entry[A]
}

// Combined is the updater that combines a batch's partial aggregate into the stored one. A missing row
// starts from the partial.
func Combined[T, A any](c Combiner[T, A], partial A) ValueUpdater[A] {
	return func(old A, found bool) (A, error) {
		if !found {
			return partial, nil
		}
		return c.Combine(old, partial)
	}
}

// Reduced is the updater that folds a batch's tuples, in order, into the stored accumulator. A missing
// row starts from Init.
func Reduced[T, A any](r Reducer[T, A], tuples []T) ValueUpdater[A] {
	return func(acc A, found bool) (A, error) {
		if !found {
			acc = r.Init()
		}
		var err error
		for _, tuple := range tuples {
			if acc, err = r.Reduce(acc, tuple); err != nil {
				return acc, err
			}
		}
		return acc, nil
	}
}

// Number is what can be summed.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Count is the Combiner that counts tuples.
type Count[T any] struct{}

// Init counts one tuple.
func (Count[T]) Init(T) (int64, error) { return 1, nil }

// Combine adds two counts, or is ErrOverflow.
func (Count[T]) Combine(a, b int64) (int64, error) { return add(a, b) }

// Zero is the count 0.
func (Count[T]) Zero() Entry[int64] { return Some(int64(0)) }

// Sum is the Combiner that adds up a number of each tuple.
type Sum[T any, N Number] struct {
	// Of is the number of a tuple.
	Of func(T) N
}

// Init is the number of the tuple.
func (s Sum[T, N]) Init(tuple T) (N, error) { return s.Of(tuple), nil }

// Combine adds two sums. A sum outside N is ErrOverflow; so is an infinite one of finite numbers, as
// in Postgres. NaN and infinities among the numbers stay in the sum.
func (Sum[T, N]) Combine(a, b N) (N, error) { return add(a, b) }

// Zero is the sum 0.
func (Sum[T, N]) Zero() Entry[N] { return Some(N(0)) }

// Min is the Combiner that keeps the smallest value.
type Min[T any, N cmp.Ordered] struct {
	// Of is the value of a tuple.
	Of func(T) N
}

// Init is the value of the tuple.
func (m Min[T, N]) Init(tuple T) (N, error) { return m.Of(tuple), nil }

// Combine is the smaller value. NaN is above all numbers, as in Postgres.
func (Min[T, N]) Combine(a, b N) (N, error) {
	if less(b, a) {
		return b, nil
	}
	return a, nil
}

// Zero is nothing: the least of no values does not exist.
func (Min[T, N]) Zero() Entry[N] { return Entry[N]{} }

// Max is the Combiner that keeps the largest value.
type Max[T any, N cmp.Ordered] struct {
	// Of is the value of a tuple.
	Of func(T) N
}

// Init is the value of the tuple.
func (m Max[T, N]) Init(tuple T) (N, error) { return m.Of(tuple), nil }

// Combine is the larger value. NaN is above all numbers, as in Postgres.
func (Max[T, N]) Combine(a, b N) (N, error) {
	if less(a, b) {
		return b, nil
	}
	return a, nil
}

// Zero is nothing: the largest of no values does not exist.
func (Max[T, N]) Zero() Entry[N] { return Entry[N]{} }

// less orders as Postgres does: NaN equals itself and is above all numbers, where cmp has it below
// them. Text is by its bytes.
func less[N cmp.Ordered](a, b N) bool {
	bIsNaN := !(b < a) && cmp.Compare(a, b) > 0
	return a < b || bIsNaN
}

func add[N Number](a, b N) (N, error) {
	s := a + b
	if (b > 0 && s < a) || (b < 0 && s > a) {
		return s, ErrOverflow
	}
	if math.IsInf(float64(s), 0) && !math.IsInf(float64(a), 0) && !math.IsInf(float64(b), 0) {
		return s, ErrOverflow
	}
	return s, nil
}
