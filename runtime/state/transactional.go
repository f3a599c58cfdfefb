package state

import "github.com/selfregulating/sr/runtime"

// TransactionalValue is a row of a TransactionalMap.
type TransactionalValue[V any] struct {
	Value V
	// TxID is the batch that made Value.
	TxID runtime.TxID
}

// TransactionalMap is a MapState that applies each batch to a key once, provided that a batch that
// comes again holds the same tuples: a row with the batch's txid is left as it is, and its value
// returned. A row of a later batch is a *TxIDBehindError.
type TransactionalMap[K comparable, V any] struct {
	ruledMap[K, V, TransactionalValue[V]]
}

// NewTransactionalMap makes a transactional map state over backing.
func NewTransactionalMap[K comparable, V any](backing BackingMap[K, TransactionalValue[V]]) *TransactionalMap[K, V] {
	return &TransactionalMap[K, V]{newRuledMap(rule[V, TransactionalValue[V]](transactional[V]{}), true, backing)}
}

type transactional[V any] struct{}

func (transactional[V]) value(row TransactionalValue[V]) V           { return row.Value }
func (transactional[V]) txid(row TransactionalValue[V]) runtime.TxID { return row.TxID }

func (transactional[V]) replayed(row TransactionalValue[V]) (Entry[V], bool) {
	return Some(row.Value), true
}

func (transactional[V]) next(_ Entry[TransactionalValue[V]], txid runtime.TxID, value V) TransactionalValue[V] {
	return TransactionalValue[V]{Value: value, TxID: txid}
}
