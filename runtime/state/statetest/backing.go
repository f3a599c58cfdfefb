package statetest

import (
	"math/rand/v2"
	"testing"

	"github.com/selfregulating/sr/runtime/state"
)

// manyKeys is more than a Postgres statement has parameters.
const manyKeys = 70_000

// RunBackingMap checks that a backing map returns what was put, by key, in order. row makes the row
// that stands for a number: Value, Transactional or Opaque.
func RunBackingMap[K Key, R comparable](t *testing.T, open Factory[K, R], row func(int64) R) {
	for name, check := range map[string]func(*testing.T, *store[K, R], func(int64) R){
		"missing rows are not found":              missingRows[K, R],
		"a row of zeros is found":                 zeroRows[K, R],
		"rows come in the order of the keys":      keyOrder[K, R],
		"a key asked for twice is answered twice": repeatedKeys[K, R],
		"a put replaces the whole row":            replaced[K, R],
		"no keys are no work":                     noKeys[K, R],
		"keys differ if their bytes differ":       distinctKeys[K, R],
		"more keys than parameters":               manyRows[K, R],
		"random puts agree with a Go map":         randomPuts[K, R],
	} {
		t.Run(name, func(t *testing.T) { check(t, &store[K, R]{BackingMap: open(t)}, row) })
	}
}

// RunStoredNull checks that a row that holds a null is told from a missing row.
func RunStoredNull[K Key](t *testing.T, open Factory[K, *int64]) {
	s := &store[K, *int64]{BackingMap: open(t)}
	ks, one := keys[K](3), int64(1)
	s.put(t, ks[:2], []*int64{nil, &one})
	got := s.get(t, ks)
	if !got[0].Found || got[0].Value != nil {
		t.Errorf("a stored null came back as %+v, want a found nil", got[0])
	}
	if !got[1].Found || got[1].Value == nil || *got[1].Value != 1 {
		t.Errorf("a stored 1 came back as %+v", got[1])
	}
	if got[2].Found {
		t.Errorf("a missing row came back as %+v", got[2])
	}
}

func missingRows[K Key, R comparable](t *testing.T, s *store[K, R], row func(int64) R) {
	ks := keys[K](4)
	s.put(t, ks[1:2], []R{row(5)})
	expect(t, ks, s.get(t, ks), []state.Entry[R]{{}, state.Some(row(5)), {}, {}})
}

func zeroRows[K Key, R comparable](t *testing.T, s *store[K, R], _ func(int64) R) {
	var zero R
	ks := keys[K](1)
	s.put(t, ks, []R{zero})
	expect(t, ks, s.get(t, ks), []state.Entry[R]{state.Some(zero)})
}

func keyOrder[K Key, R comparable](t *testing.T, s *store[K, R], row func(int64) R) {
	ks := keys[K](3)
	s.put(t, []K{ks[2], ks[0], ks[1]}, []R{row(2), row(0), row(1)})
	back := []K{ks[1], ks[2], ks[0]}
	expect(t, back, s.get(t, back), []state.Entry[R]{state.Some(row(1)), state.Some(row(2)), state.Some(row(0))})
}

func repeatedKeys[K Key, R comparable](t *testing.T, s *store[K, R], row func(int64) R) {
	ks := keys[K](2)
	s.put(t, ks[:1], []R{row(3)})
	twice := []K{ks[0], ks[1], ks[0], ks[1]}
	expect(t, twice, s.get(t, twice), []state.Entry[R]{state.Some(row(3)), {}, state.Some(row(3)), {}})
}

func replaced[K Key, R comparable](t *testing.T, s *store[K, R], row func(int64) R) {
	ks := keys[K](1)
	for _, n := range []int64{8, 9, 0, -4} { // with Prev, without, with
		s.put(t, ks, []R{row(n)})
		expect(t, ks, s.get(t, ks), []state.Entry[R]{state.Some(row(n))})
	}
}

func noKeys[K Key, R comparable](t *testing.T, s *store[K, R], _ func(int64) R) {
	s.put(t, nil, nil)
	s.get(t, nil)
}

func distinctKeys[K Key, R comparable](t *testing.T, s *store[K, R], row func(int64) R) {
	putAndGet(t, s, keys[K](30), row)
}

func manyRows[K Key, R comparable](t *testing.T, s *store[K, R], row func(int64) R) {
	if testing.Short() {
		t.Skip("writes 70,000 rows")
	}
	putAndGet(t, s, keys[K](manyKeys), row)
}

func putAndGet[K Key, R comparable](t *testing.T, s *store[K, R], ks []K, row func(int64) R) {
	rows := make([]R, len(ks))
	want := make([]state.Entry[R], len(ks))
	for i := range ks {
		rows[i] = row(int64(i))
		want[i] = state.Some(rows[i])
	}
	s.put(t, ks, rows)
	expect(t, ks, s.get(t, ks), want)
}

func randomPuts[K Key, R comparable](t *testing.T, s *store[K, R], row func(int64) R) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	ks := keys[K](40)
	twin := &state.Memory[K, R]{}
	for range 30 {
		some := make([]K, random.IntN(len(ks)))
		rows := make([]R, len(some))
		for i, at := range random.Perm(len(ks))[:len(some)] {
			some[i], rows[i] = ks[at], row(random.Int64N(1000))
		}
		s.put(t, some, rows)
		must(t, twin.MultiPut(t.Context(), some, rows))
		want, err := twin.MultiGet(t.Context(), ks)
		must(t, err)
		expect(t, ks, s.get(t, ks), want)
	}
}

func expect[K Key, R comparable](t *testing.T, keys []K, got, want []state.Entry[R]) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("key %#v: got %+v, want %+v", keys[i], got[i], want[i])
		}
	}
}
