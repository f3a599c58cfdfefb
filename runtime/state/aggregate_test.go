package state_test

import (
	"errors"
	"math"
	"testing"

	"github.com/selfregulating/sr/runtime/state"
)

var nan = math.NaN()

func TestCombinedStartsFromThePartialWhereThereIsNoRow(t *testing.T) {
	f := state.Combined[string](state.Count[string]{}, 3)
	if got, err := f(99, false); err != nil || got != 3 {
		t.Errorf("no row and 3 is %d, %v", got, err)
	}
	if got, err := f(0, true); err != nil || got != 3 {
		t.Errorf("0 and 3 is %d, %v", got, err)
	}
	if got, err := f(4, true); err != nil || got != 7 {
		t.Errorf("4 and 3 is %d, %v", got, err)
	}
}

// concat is the Reducer that strings letters together.
type concat struct{}

func (concat) Init() string { return ">" }

func (concat) Reduce(acc string, letter rune) (string, error) {
	if letter == '!' {
		return acc, errStore
	}
	return acc + string(letter), nil
}

func TestReducedFoldsInOrder(t *testing.T) {
	f := state.Reduced[rune, string](concat{}, []rune("abc"))
	if got, err := f("", false); err != nil || got != ">abc" {
		t.Errorf("no row and abc is %q, %v", got, err)
	}
	if got, err := f("", true); err != nil || got != "abc" {
		t.Errorf("an empty row and abc is %q, %v", got, err)
	}
	_, err := state.Reduced[rune, string](concat{}, []rune("a!"))("", true)
	wantError(t, "a tuple that cannot be reduced", err, errStore)
}

func TestSumOutOfRangeIsAnError(t *testing.T) {
	wantSum(t, int64(math.MaxInt64-1), 1, math.MaxInt64, nil)
	wantSum(t, int64(math.MaxInt64), 1, 0, state.ErrOverflow)
	wantSum(t, int64(math.MinInt64), -1, 0, state.ErrOverflow)
	wantSum(t, int64(math.MinInt64), math.MaxInt64, -1, nil)
	wantSum(t, uint8(200), 56, 0, state.ErrOverflow)
	wantSum(t, int8(100), 28, 0, state.ErrOverflow)
	wantSum(t, math.MaxFloat64, math.MaxFloat64, 0, state.ErrOverflow)
	wantSum(t, math.Inf(1), 1, math.Inf(1), nil)
	wantSum(t, 1.5, 2, 3.5, nil)
	if got, err := (state.Sum[int, float64]{}).Combine(1, nan); err != nil || !math.IsNaN(got) {
		t.Errorf("1 + NaN = %v, %v", got, err)
	}
	if _, err := (state.Count[int]{}).Combine(math.MaxInt64, 1); !errors.Is(err, state.ErrOverflow) {
		t.Errorf("a count out of range: got %v, want ErrOverflow", err)
	}
}

func wantSum[N state.Number](t *testing.T, a, b, want N, wantErr error) {
	t.Helper()
	got, err := state.Sum[int, N]{}.Combine(a, b)
	if !errors.Is(err, wantErr) || (wantErr == nil && got != want) {
		t.Errorf("%v + %v = %v, %v; want %v, %v", a, b, got, err, want, wantErr)
	}
}

func TestMinAndMaxOrderAsPostgresDoes(t *testing.T) {
	for _, c := range []struct{ a, b, min, max float64 }{
		{1, 2, 1, 2},
		{-1, math.Inf(-1), math.Inf(-1), -1},
		{1, nan, 1, nan},
		{math.Inf(1), nan, math.Inf(1), nan},
		{nan, nan, nan, nan},
	} {
		for _, p := range [][2]float64{{c.a, c.b}, {c.b, c.a}} {
			least, _ := state.Min[int, float64]{}.Combine(p[0], p[1])
			most, _ := state.Max[int, float64]{}.Combine(p[0], p[1])
			if !same(least, c.min) || !same(most, c.max) {
				t.Errorf("of %v: min %v, max %v; want %v, %v", p, least, most, c.min, c.max)
			}
		}
	}
	if got, _ := (state.Min[int, string]{}).Combine("b", "Z"); got != "Z" {
		t.Errorf("min of b and Z is %q; text is ordered by its bytes", got)
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func TestAggregatesOfOneTupleAndOfNone(t *testing.T) {
	length := func(s string) int { return len(s) }
	wantAggregate(t, state.Count[string]{}, 1, state.Some(int64(0)))
	wantAggregate(t, state.Sum[string, int]{Of: length}, 3, state.Some(0))
	wantAggregate(t, state.Min[string, int]{Of: length}, 3, state.Entry[int]{})
	wantAggregate(t, state.Max[string, int]{Of: length}, 3, state.Entry[int]{})
}

func wantAggregate[A comparable](t *testing.T, c state.Combiner[string, A], one A, none state.Entry[A]) {
	t.Helper()
	if got, err := c.Init("abc"); err != nil || got != one {
		t.Errorf("%T of abc is %v, %v; want %v", c, got, err, one)
	}
	if got := c.Zero(); got != none {
		t.Errorf("%T of nothing is %+v, want %+v", c, got, none)
	}
}
