package worker

import (
	"context"
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
// leaves its key as it was.
func (w *worker) modify(ctx context.Context, k *topology.Keyed, b runtime.Bucket, tx runtime.TxID, t *exchange.BucketTable, to emit) (store.RowWrite, []store.DeadLetter, error) {
	out := store.RowWrite{Table: k.Table, Bucket: b}
	keys, index := distinctKeys(t)
	stored, err := w.Store.ReadRows(ctx, k.Table, b, keys)
	if err != nil {
		return out, nil, fmt.Errorf("reading %d rows of %s[%d]: %w", len(keys), k.Operator, b, err)
	}
	crash.Point("rows-read")
	rows := make([]store.Row, len(keys))
	for i, s := range stored {
		if rows[i], err = beginRow(k, b, keys[i], s, tx); err != nil {
			return out, nil, err
		}
	}
	var dead []store.DeadLetter
	changed := make([]bool, len(keys))
	for e := range t.All() {
		i := index[string(e.Key)]
		if k.Table.Kind == state.Transactional && stored[i].Found && stored[i].TxID == tx {
			continue // this very batch is in the row already
		}
		var old []any
		if rows[i].Found {
			old = rows[i].Value
		}
		value, err := k.Reduce(keys[i], old, *e)
		if err != nil {
			dead = append(dead, store.DeadLetter{
				Operator: k.Operator, Input: runtime.Input{Operator: k.Operator, Partition: b}, TxID: tx, Partition: b, Offset: -1,
				Attempts: 1, Error: err.Error(), Key: clone(e.Key), Payload: []byte(exchange.FormatKey(e.Key)),
			})
			continue
		}
		rows[i].Found, rows[i].Value, changed[i] = true, value, true
	}
	for i := range keys {
		if !changed[i] {
			continue
		}
		out.Keys, out.Rows = append(out.Keys, keys[i]), append(out.Rows, rows[i])
		if to != nil {
			if err := to(keys[i], rows[i].Value); err != nil {
				dead = append(dead, store.DeadLetter{
					Operator: k.Operator, Input: runtime.Input{Operator: k.Operator, Partition: b}, TxID: tx, Partition: b, Offset: -1,
					Attempts: 1, Error: "handing on the new value: " + err.Error(), Key: keys[i], Payload: []byte(exchange.FormatKey(keys[i])),
				})
			}
		}
	}
	return out, dead, nil
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
