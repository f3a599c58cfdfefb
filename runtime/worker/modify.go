package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
)

// modify reads the rows that the entries of t touch, folds the entries into them by the rule of the
// table's kind, and answers what to write; the cache awaits the outcome of the batch. An entry whose
// reducer fails becomes a dead letter and leaves its key as it was; so does a key that the database
// has refused before. The new rows are given to to, if it is set.
func modify(ctx context.Context, c bucketCommit, t *exchange.BucketTable) (store.RowWrite, []store.DeadLetter, error) {
	m := modification{bucketCommit: c}
	keys, index := distinctKeys(t)
	if err := c.rows.BeginCommit(ctx, &c.txid); err != nil {
		return store.RowWrite{}, nil, fmt.Errorf("beginning a batch of %s[%d]: %w", c.k.Operator, c.bucket, err)
	}
	stored, err := c.rows.MultiGet(ctx, keys)
	if err != nil {
		return store.RowWrite{}, nil, err
	}
	crash.Point("rows-read")
	rows, changed := make([]store.Row, len(keys)), make([]bool, len(keys))
	for i, s := range stored {
		if rows[i], err = c.beginRow(keys[i], s.Value); err != nil {
			return store.RowWrite{}, nil, err
		}
	}
	for e := range t.All() {
		i := index[string(e.Key)]
		if s := stored[i]; c.k.Table.Kind == state.Transactional && s.Found && s.Value.TxID == c.txid {
			continue // this very batch is in the row already
		}
		if why, ok := c.refused[entryName(c.k.Operator, c.bucket, e.Key)]; ok {
			m.bury(e.Key, why)
			continue
		}
		changed[i] = m.fold(&rows[i], e) || changed[i]
	}
	out, err := m.write(keys, rows, changed)
	if err != nil {
		return out, nil, err
	}
	names := make([]string, len(out.Keys))
	for i, key := range out.Keys {
		names[i] = string(key)
	}
	if err := c.rows.MultiPut(ctx, names, out.Rows); err != nil {
		return out, nil, fmt.Errorf("keeping the rows of %s[%d]: %w", c.k.Operator, c.bucket, err)
	}
	if err := c.rows.Commit(ctx, &c.txid); err != nil {
		return out, nil, fmt.Errorf("ending a batch of %s[%d]: %w", c.k.Operator, c.bucket, err)
	}
	return out, m.dead, nil
}

// bucketCommit is what a batch needs to know to write the state of one bucket.
type bucketCommit struct {
	k      *topology.Keyed
	bucket runtime.Bucket
	txid   runtime.TxID
	// rows caches the bucket's rows; nil if the state folds in SQL.
	rows *rowCache
	// to is given every new row, if set; refused are the keys that the database refused after that.
	to      emit
	refused map[string]string
}

// modification is a batch's change of the rows of one bucket.
type modification struct {
	bucketCommit
	dead []store.DeadLetter
}

// fold folds an entry into its row, and tells whether it did.
func (m *modification) fold(row *store.Row, e *exchange.Entry) bool {
	var old []any
	if row.Found {
		old = row.Value
	}
	value, err := m.k.Reduce(e.Key, old, *e)
	if err != nil {
		m.bury(e.Key, err.Error())
		return false
	}
	row.Found, row.Value = true, value
	return true
}

// write lists the rows that changed, and hands them on.
func (m *modification) write(keys []string, rows []store.Row, changed []bool) (store.RowWrite, error) {
	out := store.RowWrite{Table: m.k.Table, Bucket: m.bucket}
	for i := range keys {
		if !changed[i] {
			continue
		}
		key := []byte(keys[i])
		out.Keys, out.Rows = append(out.Keys, key), append(out.Rows, rows[i])
		if m.to == nil {
			continue
		}
		switch err := m.to(key, rows[i].Value); {
		case errors.Is(err, exchange.ErrBatchFull), errors.Is(err, errPartial):
			return out, fmt.Errorf("handing on the new values of %s[%d]: %w", m.k.Operator, m.bucket, err)
		case err != nil:
			m.bury(key, "handing on the new value: "+err.Error())
		}
	}
	return out, nil
}

func (m *modification) bury(key []byte, why string) {
	m.dead = append(m.dead, store.DeadLetter{
		Operator: m.k.Operator, Input: runtime.Input{Operator: m.k.Operator, Partition: m.bucket}, TxID: m.txid, Partition: m.bucket, Offset: -1,
		Attempts: 1, Error: why, Key: clone(key), Payload: []byte(exchange.FormatKey(key)),
	})
}

func distinctKeys(t *exchange.BucketTable) ([]string, map[string]int) {
	var keys []string
	index := map[string]int{}
	for e := range t.All() {
		if _, ok := index[string(e.Key)]; !ok {
			key := string(e.Key)
			index[key] = len(keys)
			keys = append(keys, key)
		}
	}
	return keys, index
}

// beginRow gives the value that a batch starts from, by Trident's rules for a stored row.
func (c bucketCommit) beginRow(key string, s store.Row) (store.Row, error) {
	row := store.Row{Found: s.Found, Value: s.Value, TxID: c.txid}
	if c.k.Table.Kind == state.NonTransactional || !s.Found {
		return row, nil
	}
	switch {
	case s.TxID > c.txid:
		return row, &store.TxIDBehindError{Operator: c.k.Operator, Bucket: c.bucket, Key: exchange.FormatKey([]byte(key)), Row: s.TxID, Own: c.txid}
	case c.k.Table.Kind != state.Opaque:
	case s.TxID == c.txid: // the attempt before was another one: start again from what it found
		row.Found, row.Value, row.Prev, row.PrevFound = s.PrevFound, s.Prev, s.Prev, s.PrevFound
	default:
		row.Prev, row.PrevFound = s.Value, true
	}
	return row, nil
}
