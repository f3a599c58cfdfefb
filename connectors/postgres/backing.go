package postgres

import (
	"context"
	"fmt"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// Codec translates the keys and rows of a BackingMap.
type Codec[K comparable, R any] struct {
	// Key encodes a key, as exchange.AppendText and the like do.
	Key func(K) []byte
	// Row makes a stored row, Of what was stored. Found of the stored row is not looked at.
	Row func(R) store.Row
	Of  func(store.Row) R
}

// BackingMap is a state.BackingMap over one bucket of a state table, for states that a stage writes by
// themselves: each MultiPut is a transaction of its own. State that has to move with its progress goes
// through Commit.
type BackingMap[K comparable, R any] struct {
	store  *Store
	table  *state.Table
	bucket runtime.Bucket
	codec  Codec[K, R]
}

// NewBackingMap makes a backing map; the store must have been opened with the table.
func NewBackingMap[K comparable, R any](s *Store, table *state.Table, bucket runtime.Bucket, codec Codec[K, R]) *BackingMap[K, R] {
	return &BackingMap[K, R]{s, table, bucket, codec}
}

// MultiGet looks keys up; see state.BackingMap.
func (m *BackingMap[K, R]) MultiGet(ctx context.Context, keys []K) ([]state.Entry[R], error) {
	rows, err := m.store.ReadRows(ctx, m.table, m.bucket, m.encode(keys))
	if err != nil {
		return nil, err
	}
	entries := make([]state.Entry[R], len(keys))
	for i, row := range rows {
		if row.Found {
			entries[i] = state.Some(m.codec.Of(row))
		}
	}
	return entries, nil
}

// MultiPut writes rows, all or none; see state.BackingMap.
func (m *BackingMap[K, R]) MultiPut(ctx context.Context, keys []K, rows []R) error {
	if len(keys) != len(rows) {
		return fmt.Errorf("writing %d rows for %d keys: there must be one for each", len(rows), len(keys))
	}
	write := store.RowWrite{Table: m.table, Bucket: m.bucket, Keys: m.encode(keys), Rows: make([]store.Row, len(rows))}
	for i, row := range rows {
		write.Rows[i] = m.codec.Row(row)
	}
	_, err := m.store.Commit(ctx, protocol.Commit{}, store.Writes{Rows: []store.RowWrite{write}})
	return err
}

func (m *BackingMap[K, R]) encode(keys []K) [][]byte {
	encoded := make([][]byte, len(keys))
	for i, key := range keys {
		encoded[i] = m.codec.Key(key)
	}
	return encoded
}
