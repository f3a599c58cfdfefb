package state

import (
	"context"
	"maps"
	"sync"
)

// Memory is a BackingMap in memory, lost on restart: the twin that the other stores are compared
// with, and the store of the demo. A put is seen by the next get, as in a store without transactions.
// The zero Memory is empty and ready; unlike the map states it may be used concurrently.
type Memory[K comparable, R any] struct {
	mu   sync.RWMutex
	rows map[K]R
}

// MultiGet looks keys up; see BackingMap. It never fails.
func (m *Memory[K, R]) MultiGet(_ context.Context, keys []K) ([]Entry[R], error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	got := make([]Entry[R], len(keys))
	for i, key := range keys {
		got[i].Value, got[i].Found = m.rows[key]
	}
	return got, nil
}

// MultiPut writes rows; see BackingMap. It fails only if the lists differ in length.
func (m *Memory[K, R]) MultiPut(_ context.Context, keys []K, rows []R) error {
	if err := sameCount("rows", len(keys), len(rows)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows == nil {
		m.rows = make(map[K]R, len(keys))
	}
	for i, key := range keys {
		m.rows[key] = rows[i]
	}
	return nil
}

// Rows is a copy of everything stored.
func (m *Memory[K, R]) Rows() map[K]R {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.rows)
}
