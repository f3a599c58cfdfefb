package state

import "context"

// SnapshottableMap is a Snapshottable that keeps its value under one fixed key of a map state.
type SnapshottableMap[K comparable, V any] struct {
	MapState[K, V]
	Pipelined
	key []K
}

// NewSnapshottableMap makes a Snapshottable of the row of key in m.
func NewSnapshottableMap[K comparable, V any](m MapState[K, V], key K) *SnapshottableMap[K, V] {
	return &SnapshottableMap[K, V]{MapState: m, Pipelined: lifecycleOf(m), key: []K{key}}
}

// Get looks the value up; see MapState.MultiGet.
func (s *SnapshottableMap[K, V]) Get(ctx context.Context) (Entry[V], error) {
	got, err := s.MultiGet(ctx, s.key)
	return only("values of MultiGet", got, err)
}

// Update computes a new value from the old one; see MapState.MultiUpdate.
func (s *SnapshottableMap[K, V]) Update(ctx context.Context, updater ValueUpdater[V]) (V, error) {
	got, err := s.MultiUpdate(ctx, s.key, []ValueUpdater[V]{updater})
	return only("values of MultiUpdate", got, err)
}

// Set replaces the value; see MapState.MultiPut.
func (s *SnapshottableMap[K, V]) Set(ctx context.Context, value V) error {
	return s.MultiPut(ctx, s.key, []V{value})
}

func only[T any](what string, got []T, err error) (one T, _ error) {
	if err == nil {
		err = sameCount(what, 1, len(got))
	}
	if err != nil {
		return one, err
	}
	return got[0], nil
}
