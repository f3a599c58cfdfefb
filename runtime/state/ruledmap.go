package state

import (
	"context"
	"fmt"

	"github.com/selfregulating/sr/runtime"
)

// rule is what tells the kinds of map state apart: what a row of type R means, and how it changes.
type rule[V, R any] interface {
	// value is the newest value of a row.
	value(row R) V
	// txid is the batch that wrote the row; 0 if the rule keeps none.
	txid(row R) runtime.TxID
	// replayed is what an update starts from where an earlier attempt at the same batch wrote the
	// row; skip says that the row already holds the batch and must stay.
	replayed(row R) (base Entry[V], skip bool)
	// next is the row after an update to value by batch txid.
	next(old Entry[R], txid runtime.TxID, value V) R
}

// ruledMap is a MapState: a rule over a backing map. It gathers the writes of a commit and puts them
// once, in Commit. So every key is written once a commit, and a failed commit leaves each row either
// as it was or as the whole batch made it: the two cases that the rules can tell apart.
type ruledMap[K comparable, V, R any] struct {
	rule      rule[V, R]
	needsTxID bool
	backing   BackingMap[K, R]
	below     lifecycle

	open    bool
	txid    runtime.TxID // of the open commit; 0 without one
	written writes[K, R]
}

func newRuledMap[K comparable, V, R any](r rule[V, R], needsTxID bool, backing BackingMap[K, R]) ruledMap[K, V, R] {
	return ruledMap[K, V, R]{rule: r, needsTxID: needsTxID, backing: backing, below: lifecycleOf(backing)}
}

// BeginCommit opens the commit of batch txid; see State.
func (m *ruledMap[K, V, R]) BeginCommit(ctx context.Context, txid *runtime.TxID) error {
	m.close()
	if m.needsTxID && (txid == nil || *txid < 1) {
		return ErrNoTxID
	}
	if err := m.below.BeginCommit(ctx, txid); err != nil {
		return err
	}
	m.open, m.txid = true, orZero(txid)
	return nil
}

// Commit puts the rows that the commit wrote; see State.
func (m *ruledMap[K, V, R]) Commit(ctx context.Context, txid *runtime.TxID) error {
	if !m.open || m.txid != orZero(txid) {
		return ErrNoCommit
	}
	defer m.close()
	if n := len(m.written.keys); n > 0 {
		if err := m.backing.MultiPut(ctx, m.written.keys, m.written.rows); err != nil {
			return fmt.Errorf("writing %d rows: %w", n, err)
		}
	}
	return m.below.Commit(ctx, txid)
}

// Committed passes the outcome on to the backing map; see Pipelined.
func (m *ruledMap[K, V, R]) Committed(txid runtime.TxID) { m.below.Committed(txid) }

// Failed voids the open commit too if it is txid or later, because it started from values that never
// came to be; see Pipelined.
func (m *ruledMap[K, V, R]) Failed(txid runtime.TxID) {
	if m.txid >= txid {
		m.close()
	}
	m.below.Failed(txid)
}

// Drop forgets the open commit and all that the backing map remembers; see Pipelined.
func (m *ruledMap[K, V, R]) Drop() {
	m.close()
	m.below.Drop()
}

// MultiGet looks keys up; see MapState.
func (m *ruledMap[K, V, R]) MultiGet(ctx context.Context, keys []K) ([]Entry[V], error) {
	rows, err := m.read(ctx, keys)
	if err != nil {
		return nil, err
	}
	values := make([]Entry[V], len(keys))
	for i, key := range keys {
		if values[i], _, err = m.base(key, rows[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// MultiUpdate updates keys by the rule of the map; see MapState.
func (m *ruledMap[K, V, R]) MultiUpdate(ctx context.Context, keys []K, updaters []ValueUpdater[V]) ([]V, error) {
	if err := sameCount("updaters", len(keys), len(updaters)); err != nil {
		m.close()
		return nil, err
	}
	return m.updateAll(ctx, keys, func(i int) ValueUpdater[V] { return updaters[i] })
}

// MultiPut sets keys to values by the rule of the map, so that a replay of the set is one too; see
// MapState.
func (m *ruledMap[K, V, R]) MultiPut(ctx context.Context, keys []K, values []V) error {
	if err := sameCount("values", len(keys), len(values)); err != nil {
		m.close()
		return err
	}
	_, err := m.updateAll(ctx, keys, func(i int) ValueUpdater[V] {
		return func(V, bool) (V, error) { return values[i], nil }
	})
	return err
}

func (m *ruledMap[K, V, R]) updateAll(ctx context.Context, keys []K, updater func(int) ValueUpdater[V]) ([]V, error) {
	if !m.open {
		return nil, ErrNoCommit
	}
	rows, err := m.read(ctx, keys)
	if err != nil {
		m.close()
		return nil, err
	}
	values := make([]V, len(keys))
	for i, key := range keys {
		if values[i], err = m.update(key, rows[i], updater(i)); err != nil {
			m.close()
			return nil, err
		}
	}
	return values, nil
}

func (m *ruledMap[K, V, R]) update(key K, stored Entry[R], f ValueUpdater[V]) (V, error) {
	base, skip, err := m.base(key, stored)
	if err != nil || skip {
		return base.Value, err
	}
	value, err := f(base.Value, base.Found)
	if err != nil {
		return value, fmt.Errorf("updating key %#v: %w", key, err)
	}
	if row, found := m.written.get(key); found {
		stored = Some(row)
	}
	m.written.put(key, m.rule.next(stored, m.txid, value))
	return value, nil
}

// base is what an update of key starts from. stored is the row in the store, looked at only while this
// commit has not written the key.
func (m *ruledMap[K, V, R]) base(key K, stored Entry[R]) (base Entry[V], skip bool, err error) {
	if row, found := m.written.get(key); found {
		return Some(m.rule.value(row)), false, nil
	}
	if !stored.Found {
		return base, false, nil
	}
	by := m.rule.txid(stored.Value)
	switch {
	case m.open && by > m.txid:
		return base, false, &TxIDBehindError{Key: key, Current: m.txid, Stored: by}
	case m.open && by == m.txid:
		base, skip = m.rule.replayed(stored.Value)
		return base, skip, nil
	}
	return Some(m.rule.value(stored.Value)), false, nil
}

// read returns the stored rows of keys, in their order. Those that the commit wrote are not asked for;
// their entry is empty.
func (m *ruledMap[K, V, R]) read(ctx context.Context, keys []K) ([]Entry[R], error) {
	ask, at := keys, []int(nil)
	if len(m.written.keys) > 0 {
		ask, at = m.unwritten(keys)
	}
	if len(ask) == 0 {
		return make([]Entry[R], len(keys)), nil
	}
	got, err := m.backing.MultiGet(ctx, ask)
	if err != nil {
		return nil, fmt.Errorf("reading %d rows: %w", len(ask), err)
	}
	if err := sameCount("rows of MultiGet", len(ask), len(got)); err != nil {
		return nil, err
	}
	if len(ask) == len(keys) {
		return got, nil
	}
	rows := make([]Entry[R], len(keys))
	for i, row := range got {
		rows[at[i]] = row
	}
	return rows, nil
}

// unwritten returns the keys that the commit has not written, and where they stand in keys.
func (m *ruledMap[K, V, R]) unwritten(keys []K) (ask []K, at []int) {
	for i, key := range keys {
		if _, found := m.written.get(key); !found {
			ask, at = append(ask, key), append(at, i)
		}
	}
	return ask, at
}

func (m *ruledMap[K, V, R]) close() {
	m.open, m.txid, m.written = false, 0, writes[K, R]{}
}

func orZero(txid *runtime.TxID) runtime.TxID {
	if txid == nil {
		return 0
	}
	return *txid
}
