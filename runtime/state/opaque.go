package state

import "github.com/selfregulating/sr/runtime"

// OpaqueValue is a row of an OpaqueMap.
type OpaqueValue[V any] struct {
	Value V
	// Prev is the value before batch TxID; not Found if that batch made the row.
	Prev Entry[V]
	// TxID is the batch that made Value.
	TxID runtime.TxID
}

// OpaqueMap is a MapState that applies each batch to a key once even if a batch that comes again holds
// other tuples: a row with the batch's txid is computed anew from the value before it. A row of a later
// batch is a *TxIDBehindError. A key that only the failed attempt held keeps that attempt's value in a
// store that does not commit a batch as a whole; see DESIGN.md, "The hole".
type OpaqueMap[K comparable, V any] struct {
	ruledMap[K, V, OpaqueValue[V]]
}

// NewOpaqueMap makes an opaque map state over backing.
func NewOpaqueMap[K comparable, V any](backing BackingMap[K, OpaqueValue[V]]) *OpaqueMap[K, V] {
	return &OpaqueMap[K, V]{newRuledMap(rule[V, OpaqueValue[V]](opaque[V]{}), true, backing)}
}

type opaque[V any] struct{}

func (opaque[V]) value(row OpaqueValue[V]) V                   { return row.Value }
func (opaque[V]) txid(row OpaqueValue[V]) runtime.TxID         { return row.TxID }
func (opaque[V]) replayed(row OpaqueValue[V]) (Entry[V], bool) { return row.Prev, false }

func (opaque[V]) next(old Entry[OpaqueValue[V]], txid runtime.TxID, value V) OpaqueValue[V] {
	row := OpaqueValue[V]{Value: value, TxID: txid}
	switch {
	case !old.Found:
	case old.Value.TxID == txid:
		row.Prev = old.Value.Prev
	default:
		row.Prev = Some(old.Value.Value)
	}
	return row
}
