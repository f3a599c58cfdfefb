// Package statetest is the conformance suite of backing maps: what each must do by itself
// (RunBackingMap, RunStoredNull), and what the transactional and opaque maps make of it
// (RunTransactionalMap, RunOpaqueMap). Every backing map of sr runs all of it, the memory twin too.
//
// Each write of the suite is bracketed as the owner of a bucket would do it: BeginCommit, MultiPut,
// Commit, and Committed, of those that the map implements.
package statetest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/state"
)

// Key is the key types that every backing map takes.
type Key interface{ int64 | string }

// Factory opens an empty backing map for one test.
type Factory[K Key, R any] func(t *testing.T) state.BackingMap[K, R]

// Value makes the row of a non-transactional map that stands for n.
func Value(n int64) int64 { return n }

// Transactional makes the row of a transactional map that stands for n.
func Transactional(n int64) state.TransactionalValue[int64] {
	return state.TransactionalValue[int64]{Value: n, TxID: 7}
}

// Opaque makes the row of an opaque map that stands for n; that of an odd n has no Prev.
func Opaque(n int64) state.OpaqueValue[int64] {
	row := state.OpaqueValue[int64]{Value: n, TxID: 7}
	if n%2 == 0 {
		row.Prev = state.Some(n / 2)
	}
	return row
}

// keys are n distinct keys, those likely to go wrong first.
func keys[K Key](n int) []K {
	var all []K
	switch into := any(&all).(type) {
	case *[]int64:
		*into = []int64{0, -1, 1, math.MinInt64, math.MaxInt64}
		for i := int64(len(*into)); len(*into) < n; i++ {
			*into = append(*into, i*1_000_003)
		}
	case *[]string:
		*into = []string{
			"", " ", "a", "A", "a ", "ä", "a\u0308", `'`, `"`, `\`, `\x00`, "{a,b}", "null", "NULL", "%_",
			"\n", "\t", "犬", "🐕", strings.Repeat("k", 2000),
		}
		for i := 0; len(*into) < n; i++ {
			*into = append(*into, fmt.Sprintf("key %d", i))
		}
	}
	return all[:n]
}

// store is a backing map with the bracket around its writes.
type store[K Key, R any] struct {
	state.BackingMap[K, R]
	txid runtime.TxID
}

func (s *store[K, R]) put(t *testing.T, keys []K, rows []R) {
	t.Helper()
	s.txid++
	ctx := t.Context()
	st, bracketed := s.BackingMap.(state.State)
	if bracketed {
		must(t, st.BeginCommit(ctx, &s.txid))
	}
	must(t, s.MultiPut(ctx, keys, rows))
	if bracketed {
		must(t, st.Commit(ctx, &s.txid))
	}
	if p, ok := s.BackingMap.(state.Pipelined); ok {
		p.Committed(s.txid)
	}
}

func (s *store[K, R]) get(t *testing.T, keys []K) []state.Entry[R] {
	t.Helper()
	got, err := s.MultiGet(t.Context(), keys)
	must(t, err)
	if len(got) != len(keys) {
		t.Fatalf("MultiGet of %d keys returned %d entries", len(keys), len(got))
	}
	return got
}

// commit runs one batch over a map state, and reports it as durable.
func commit(t *testing.T, m state.State, txid runtime.TxID, update func(context.Context)) {
	t.Helper()
	must(t, m.BeginCommit(t.Context(), &txid))
	update(t.Context())
	must(t, m.Commit(t.Context(), &txid))
	m.(state.Pipelined).Committed(txid)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
