package state

import (
	"context"

	"github.com/selfregulating/sr/runtime"
)

// NonTransactionalMap is a MapState whose rows are the values and nothing else: every update is
// applied, so a batch that comes again counts again unless the store commits it with its progress.
type NonTransactionalMap[K comparable, V any] struct {
	ruledMap[K, V, V]
}

// NewNonTransactionalMap makes a non-transactional map state over backing.
func NewNonTransactionalMap[K comparable, V any](backing BackingMap[K, V]) *NonTransactionalMap[K, V] {
	return &NonTransactionalMap[K, V]{newRuledMap(rule[V, V](nonTransactional[V]{}), false, backing)}
}

// MultiPut sets keys to values; see MapState. Nothing of the old rows is needed, so none are read.
func (m *NonTransactionalMap[K, V]) MultiPut(_ context.Context, keys []K, values []V) error {
	if err := sameCount("values", len(keys), len(values)); err != nil {
		m.close()
		return err
	}
	if !m.open {
		return ErrNoCommit
	}
	for i, key := range keys {
		m.written.put(key, values[i])
	}
	return nil
}

type nonTransactional[V any] struct{}

func (nonTransactional[V]) value(row V) V                              { return row }
func (nonTransactional[V]) txid(V) runtime.TxID                        { return 0 }
func (nonTransactional[V]) replayed(row V) (Entry[V], bool)            { return Some(row), false }
func (nonTransactional[V]) next(_ Entry[V], _ runtime.TxID, value V) V { return value }
