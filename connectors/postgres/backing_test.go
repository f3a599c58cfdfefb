package postgres

import (
	"fmt"
	"testing"

	"github.com/selfregulating/sr/connectors/postgres/pgtest"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/state/statetest"
	"github.com/selfregulating/sr/runtime/store"
)

func TestBackingMapConforms(t *testing.T) {
	f := &factory{url: pgtest.URL(t)}
	t.Run("text keys", func(t *testing.T) {
		conform(t, f, state.Text, func(k string) []byte { return exchange.AppendText(nil, k) })
	})
	t.Run("bigint keys", func(t *testing.T) {
		conform(t, f, state.Bigint, func(k int64) []byte { return exchange.AppendInt(nil, k) })
	})
}

func conform[K statetest.Key](t *testing.T, f *factory, key state.ColumnType, encode func(K) []byte) {
	plain := mapOf(f, state.NonTransactional, key, Codec[K, int64]{
		Key: encode, Row: func(v int64) store.Row { return store.Row{Value: []any{v}} }, Of: func(r store.Row) int64 { return r.Value[0].(int64) },
	})
	t.Run("values", func(t *testing.T) { statetest.RunBackingMap(t, plain, statetest.Value) })
	t.Run("nulls", func(t *testing.T) {
		statetest.RunStoredNull(t, mapOf(f, state.NonTransactional, key, Codec[K, *int64]{Key: encode, Row: nullable, Of: orNil}))
	})
	type transactional = state.TransactionalValue[int64]
	once := mapOf(f, state.Transactional, key, Codec[K, transactional]{
		Key: encode,
		Row: func(v transactional) store.Row { return store.Row{Value: []any{v.Value}, TxID: v.TxID} },
		Of:  func(r store.Row) transactional { return transactional{Value: r.Value[0].(int64), TxID: r.TxID} },
	})
	t.Run("transactional rows", func(t *testing.T) { statetest.RunBackingMap(t, once, statetest.Transactional) })
	t.Run("transactional map", func(t *testing.T) { statetest.RunTransactionalMap(t, once) })
	opaque := mapOf(f, state.Opaque, key, Codec[K, state.OpaqueValue[int64]]{Key: encode, Row: fromOpaque, Of: toOpaque})
	t.Run("opaque rows", func(t *testing.T) { statetest.RunBackingMap(t, opaque, statetest.Opaque) })
	t.Run("opaque map", func(t *testing.T) { statetest.RunOpaqueMap(t, opaque) })
}

func nullable(v *int64) store.Row {
	if v == nil {
		return store.Row{Value: []any{nil}}
	}
	return store.Row{Value: []any{*v}}
}

func orNil(r store.Row) *int64 {
	if v, ok := r.Value[0].(int64); ok {
		return &v
	}
	return nil
}

func fromOpaque(v state.OpaqueValue[int64]) store.Row {
	row := store.Row{Value: []any{v.Value}, TxID: v.TxID}
	if v.Prev.Found {
		row.Prev, row.PrevFound = []any{v.Prev.Value}, true
	}
	return row
}

func toOpaque(r store.Row) state.OpaqueValue[int64] {
	v := state.OpaqueValue[int64]{Value: r.Value[0].(int64), TxID: r.TxID}
	if r.PrevFound {
		v.Prev = state.Some(r.Prev[0].(int64))
	}
	return v
}

// factory opens every map over a bucket of a topology of its own.
type factory struct {
	url string
	n   int
}

func mapOf[K statetest.Key, R any](f *factory, kind state.Kind, key state.ColumnType, codec Codec[K, R]) statetest.Factory[K, R] {
	return func(t *testing.T) state.BackingMap[K, R] {
		f.n++
		table := &state.Table{
			Operator: "values", Keys: []state.Column{{Name: "k", Type: key}},
			Values: []state.Aggregate{{Name: "v", Fold: state.FoldReduce, Type: state.Bigint}}, Kind: kind, Buckets: 1,
		}
		s := openAs(t, f.url, fmt.Sprintf("map%d", f.n), table)
		return NewBackingMap(s, table, 0, codec)
	}
}
