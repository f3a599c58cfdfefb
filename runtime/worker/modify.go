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
// table's kind, and answers what to write. An entry whose reducer fails becomes a dead letter and
// leaves its key as it was; so does a key that the database has refused before. The new rows are
// given to to, if it is set.
func (w *worker) modify(ctx context.Context, k *topology.Keyed, b runtime.Bucket, tx runtime.TxID, t *exchange.BucketTable, to emit, refused map[string]string) (store.RowWrite, []store.DeadLetter, error) {
	m := modification{k: k, bucket: b, txid: tx}
	keys, index := distinctKeys(t)
	stored, err := w.Store.ReadRows(ctx, k.Table, b, keys)
	if err != nil {
		return store.RowWrite{}, nil, fmt.Errorf("reading %d rows of %s[%d]: %w", len(keys), k.Operator, b, err)
	}
	crash.Point("rows-read")
	rows := make([]store.Row, len(keys))
	for i, s := range stored {
		if rows[i], err = beginRow(k, b, keys[i], s, tx); err != nil {
			return store.RowWrite{}, nil, err
		}
	}
	changed := make([]bool, len(keys))
	for e := range t.All() {
		i := index[string(e.Key)]
		if k.Table.Kind == state.Transactional && stored[i].Found && stored[i].TxID == tx {
			continue // this very batch is in the row already
		}
		if why, ok := refused[entryName(k.Operator, b, e.Key)]; ok {
			m.bury(keys[i], why)
			continue
		}
		changed[i] = m.fold(&rows[i], keys[i], e) || changed[i]
	}
	out := store.RowWrite{Table: k.Table, Bucket: b}
	for i, key := range keys {
		if !changed[i] {
			continue
		}
		out.Keys, out.Rows = append(out.Keys, key), append(out.Rows, rows[i])
		if to == nil {
			continue
		}
		switch err := to(key, rows[i].Value); {
		case errors.Is(err, exchange.ErrBatchFull), errors.Is(err, errPartial):
			return out, nil, fmt.Errorf("handing on the new values of %s[%d]: %w", k.Operator, b, err)
		case err != nil:
			m.bury(key, "handing on the new value: "+err.Error())
		}
	}
	return out, m.dead, nil
}

// modification is a batch's change of the rows of one bucket.
type modification struct {
	k      *topology.Keyed
	bucket runtime.Bucket
	txid   runtime.TxID
	dead   []store.DeadLetter
}

// fold folds an entry into its row, and tells whether it did.
func (m *modification) fold(row *store.Row, key []byte, e *exchange.Entry) bool {
	var old []any
	if row.Found {
		old = row.Value
	}
	value, err := m.k.Reduce(key, old, *e)
	if err != nil {
		m.bury(key, err.Error())
		return false
	}
	row.Found, row.Value = true, value
	return true
}

func (m *modification) bury(key []byte, why string) {
	m.dead = append(m.dead, store.DeadLetter{
		Operator: m.k.Operator, Input: runtime.Input{Operator: m.k.Operator, Partition: m.bucket}, TxID: m.txid, Partition: m.bucket, Offset: -1,
		Attempts: 1, Error: why, Key: key, Payload: []byte(exchange.FormatKey(key)),
	})
}

func distinctKeys(t *exchange.BucketTable) ([][]byte, map[string]int) {
	var keys [][]byte
	index := map[string]int{}
	for e := range t.All() {
		if _, ok := index[string(e.Key)]; !ok {
			key := clone(e.Key)
			index[string(key)] = len(keys)
			keys = append(keys, key)
		}
	}
	return keys, index
}

// beginRow gives the value that a batch starts from, by Trident's rules for a stored row.
func beginRow(k *topology.Keyed, b runtime.Bucket, key []byte, s store.Row, tx runtime.TxID) (store.Row, error) {
	row := store.Row{Found: s.Found, Value: s.Value, TxID: tx}
	if k.Table.Kind == state.NonTransactional || !s.Found {
		return row, nil
	}
	switch {
	case s.TxID > tx:
		return row, &store.TxIDBehindError{Operator: k.Operator, Bucket: b, Key: exchange.FormatKey(key), Row: s.TxID, Own: tx}
	case k.Table.Kind != state.Opaque:
	case s.TxID == tx: // the attempt before was another one: start again from what it found
		row.Found, row.Value, row.Prev, row.PrevFound = s.PrevFound, s.Prev, s.Prev, s.PrevFound
	default:
		row.Prev, row.PrevFound = s.Value, true
	}
	return row, nil
}
