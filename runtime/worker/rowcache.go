package worker

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
)

// rowCache remembers the state rows of one bucket, by encoded key, for operators that read, modify and
// write. It is filled only after COMMIT, and ends with the ownership: every restart makes a new one.
type rowCache = state.CachedMap[string, store.Row]

// newRowCache makes the cache of a bucket that may hold so many bytes.
func (w *worker) newRowCache(k *topology.Keyed, b runtime.Bucket, bytes int) (*rowCache, error) {
	rows, err := state.NewCachedMap(storedRows{w.Store, k, b}, state.CacheConfig[string, store.Row]{MaxBytes: int64(max(bytes, 1)), Size: rowSize})
	if err != nil {
		return nil, fmt.Errorf("making the cache of %s[%d]: %w", k.Operator, b, err)
	}
	return rows, nil
}

// keep takes a committed batch into the cache, or empties it if the store does not hold all of it.
func keep(rows *rowCache, txid runtime.TxID, buried bool) {
	switch {
	case rows == nil:
	case buried:
		rows.Drop()
	default:
		rows.Committed(txid)
	}
}

// storedRows is the store below a cache. Rows are written by the commit of their batch, not here.
type storedRows struct {
	store  store.Store
	k      *topology.Keyed
	bucket runtime.Bucket
}

// MultiGet reads rows of the bucket; see state.BackingMap.
func (s storedRows) MultiGet(ctx context.Context, keys []string) ([]state.Entry[store.Row], error) {
	encoded := make([][]byte, len(keys))
	for i, key := range keys {
		encoded[i] = []byte(key)
	}
	rows, err := s.store.ReadRows(ctx, s.k.Table, s.bucket, encoded)
	if err != nil {
		return nil, fmt.Errorf("reading %d rows of %s[%d]: %w", len(keys), s.k.Operator, s.bucket, err)
	}
	entries := make([]state.Entry[store.Row], len(rows))
	for i, row := range rows {
		entries[i] = state.Entry[store.Row]{Value: row, Found: row.Found}
	}
	return entries, nil
}

// MultiPut does nothing; see storedRows.
func (s storedRows) MultiPut(context.Context, []string, []store.Row) error { return nil }

// rowSize is the memory of a key and its row, in bytes.
func rowSize(key string, row store.Row) int {
	n := len(key) + int(unsafe.Sizeof(key)+unsafe.Sizeof(row))
	for _, values := range [2][]any{row.Value, row.Prev} {
		for _, v := range values {
			n += int(unsafe.Sizeof(v)) + 8
			if s, ok := v.(string); ok {
				n += len(s) + 8
			}
		}
	}
	return n
}
