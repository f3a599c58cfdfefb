package statetest

import (
	"context"
	"errors"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/state"
)

// RunTransactionalMap checks the worked example and the rules of transactional rows over a store.
func RunTransactionalMap[K Key](t *testing.T, open Factory[K, state.TransactionalValue[int64]]) {
	type row = state.TransactionalValue[int64]
	t.Run("man, dog and apple at txid 3", func(t *testing.T) {
		s := &store[K, row]{BackingMap: open(t)}
		ks := keys[K](3) // man, dog, apple
		s.put(t, ks, []row{{Value: 3, TxID: 1}, {Value: 4, TxID: 3}, {Value: 10, TxID: 2}})
		update(t, state.NewTransactionalMap(s.BackingMap), 3, []K{ks[0], ks[0], ks[1]}, []int64{1, 1, 1}, []int64{4, 5, 4})
		expect(t, ks, s.get(t, ks), []state.Entry[row]{
			state.Some(row{Value: 5, TxID: 3}), state.Some(row{Value: 4, TxID: 3}), state.Some(row{Value: 10, TxID: 2}),
		})
	})
	t.Run("the first batch of a key starts from nothing, and only once", func(t *testing.T) {
		s := &store[K, row]{BackingMap: open(t)}
		ks := keys[K](1)
		for range 2 {
			update(t, state.NewTransactionalMap(s.BackingMap), 1, ks, []int64{6}, []int64{6})
		}
		expect(t, ks, s.get(t, ks), []state.Entry[row]{state.Some(row{Value: 6, TxID: 1})})
	})
	t.Run("a row of a later batch is a terminal error", func(t *testing.T) {
		s := &store[K, row]{BackingMap: open(t)}
		ks := keys[K](2)
		s.put(t, ks[1:], []row{{Value: 1, TxID: 9}})
		refuseBehind(t, state.NewTransactionalMap(s.BackingMap), ks)
		expect(t, ks, s.get(t, ks), []state.Entry[row]{{}, state.Some(row{Value: 1, TxID: 9})})
	})
}

// RunOpaqueMap checks the worked examples and the rules of opaque rows over a store.
func RunOpaqueMap[K Key](t *testing.T, open Factory[K, state.OpaqueValue[int64]]) {
	type row = state.OpaqueValue[int64]
	before := row{Value: 4, Prev: state.Some(int64(1)), TxID: 2}
	for name, c := range map[string]struct {
		txid runtime.TxID
		want row
	}{
		"4 before 1 at txid 2, with 2 more at txid 3": {3, row{Value: 6, Prev: state.Some(int64(4)), TxID: 3}},
		"4 before 1 at txid 2, with 2 more at txid 2": {2, row{Value: 3, Prev: state.Some(int64(1)), TxID: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &store[K, row]{BackingMap: open(t)}
			ks := keys[K](1)
			s.put(t, ks, []row{before})
			update(t, state.NewOpaqueMap(s.BackingMap), c.txid, ks, []int64{2}, []int64{c.want.Value})
			expect(t, ks, s.get(t, ks), []state.Entry[row]{state.Some(c.want)})
		})
	}
	t.Run("a key that a commit wrote goes on from there, and keeps what was before", func(t *testing.T) {
		s := &store[K, row]{BackingMap: open(t)}
		ks := keys[K](1)
		s.put(t, ks, []row{before})
		update(t, state.NewOpaqueMap(s.BackingMap), 2, []K{ks[0], ks[0]}, []int64{2, 5}, []int64{3, 8})
		expect(t, ks, s.get(t, ks), []state.Entry[row]{state.Some(row{Value: 8, Prev: state.Some(int64(1)), TxID: 2})})
	})
	t.Run("a replay of the first batch starts from nothing again", func(t *testing.T) {
		s := &store[K, row]{BackingMap: open(t)}
		ks := keys[K](1)
		update(t, state.NewOpaqueMap(s.BackingMap), 1, ks, []int64{6}, []int64{6})
		update(t, state.NewOpaqueMap(s.BackingMap), 1, ks, []int64{2}, []int64{2})
		expect(t, ks, s.get(t, ks), []state.Entry[row]{state.Some(row{Value: 2, TxID: 1})})
	})
	t.Run("a row of a later batch is a terminal error", func(t *testing.T) {
		s := &store[K, row]{BackingMap: open(t)}
		ks := keys[K](2)
		s.put(t, ks[1:], []row{{Value: 1, TxID: 9}})
		refuseBehind(t, state.NewOpaqueMap(s.BackingMap), ks)
		expect(t, ks, s.get(t, ks), []state.Entry[row]{{}, state.Some(row{Value: 1, TxID: 9})})
	})
}

// update adds amounts[i] to keys[i] in one batch and checks the values returned.
func update[K Key](t *testing.T, m state.MapState[K, int64], txid runtime.TxID, keys []K, amounts, want []int64) {
	t.Helper()
	commit(t, m, txid, func(ctx context.Context) {
		got, err := m.MultiUpdate(ctx, keys, adders(amounts))
		must(t, err)
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("update %d of key %#v returned %d, want %d", i, keys[i], got[i], want[i])
			}
		}
	})
}

// refuseBehind runs batch 8 over keys[0], which is new, and keys[1], whose row is of batch 9.
func refuseBehind[K Key](t *testing.T, m state.MapState[K, int64], keys []K) {
	t.Helper()
	txid := runtime.TxID(8)
	must(t, m.BeginCommit(t.Context(), &txid))
	_, err := m.MultiUpdate(t.Context(), keys, adders([]int64{1, 1}))
	var behind *state.TxIDBehindError
	if !errors.Is(err, state.ErrTxIDBehind) || !errors.As(err, &behind) {
		t.Fatalf("batch 8 over a row of batch 9: got error %v, want ErrTxIDBehind", err)
	}
	if behind.Key != any(keys[1]) || behind.Current != 8 || behind.Stored != 9 {
		t.Errorf("the error names key %#v, batch %d, row %d", behind.Key, behind.Current, behind.Stored)
	}
	if err := m.Commit(t.Context(), &txid); !errors.Is(err, state.ErrNoCommit) {
		t.Errorf("committing after the error: got %v, want ErrNoCommit", err)
	}
	m.(state.Pipelined).Failed(txid)
}

func adders(amounts []int64) []state.ValueUpdater[int64] {
	updaters := make([]state.ValueUpdater[int64], len(amounts))
	for i, amount := range amounts {
		updaters[i] = func(old int64, _ bool) (int64, error) { return old + amount, nil }
	}
	return updaters
}
