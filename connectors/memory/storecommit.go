package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// Commit changes the rows, all of them or none; see store.Store.
func (s *Store) Commit(_ context.Context, c protocol.Commit, w store.Writes) (protocol.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.rows.Clone()
	result, err := rows.Commit(c)
	if err != nil {
		return protocol.Result{}, err
	}
	staged, err := s.stage(&w)
	if err != nil {
		return protocol.Result{}, err
	}
	s.rows = rows
	for operator, changed := range staged {
		if s.tables[operator] == nil {
			s.tables[operator] = make(map[rowKey]store.Row)
		}
		maps.Copy(s.tables[operator], changed)
	}
	s.letters = append(s.letters, slices.Clone(w.DeadLetters)...)
	return result, nil
}

// stage computes the rows that the writes would leave.
func (s *Store) stage(w *store.Writes) (map[string]map[rowKey]store.Row, error) {
	staged := make(map[string]map[rowKey]store.Row)
	set := func(t *state.Table, at rowKey, row store.Row) {
		if staged[t.Operator] == nil {
			staged[t.Operator] = make(map[rowKey]store.Row)
		}
		staged[t.Operator][at] = row
	}
	for i := range w.Folds {
		f := &w.Folds[i]
		for e := range f.Partials.All() {
			at := rowKey{f.Bucket, string(e.Key)}
			row, err := foldEntry(f, s.tables[f.Table.Operator][at], e)
			if err != nil {
				return nil, err
			}
			set(f.Table, at, row)
		}
	}
	for i := range w.Rows {
		r := &w.Rows[i]
		for k, key := range r.Keys {
			at := rowKey{r.Bucket, string(key)}
			row, err := written(r, s.tables[r.Table.Operator][at], key, r.Rows[k])
			if err != nil {
				return nil, err
			}
			set(r.Table, at, row)
		}
	}
	return staged, nil
}

// written is a row as a read-modify-write leaves it.
func written(w *store.RowWrite, old store.Row, key []byte, row store.Row) (store.Row, error) {
	operator := runtime.OperatorID(w.Table.Operator)
	if err := checkKey(key); err != nil {
		return row, &store.DataError{Operator: operator, Bucket: w.Bucket, Code: stateText, Err: err}
	}
	for _, v := range append(slices.Clone(row.Value), row.Prev...) {
		if text, ok := v.(string); ok && exchange.CheckText(text) != nil {
			return row, &store.DataError{Operator: operator, Bucket: w.Bucket, Code: stateText, Err: exchange.CheckText(text)}
		}
	}
	row.Found = true
	if w.Table.Kind != state.Opaque || !row.PrevFound {
		row.Prev, row.PrevFound = nil, false
	}
	if w.Table.Kind == state.NonTransactional {
		row.TxID = 0
		return row, nil
	}
	return row, behind(w.Table, w.Bucket, key, old, row.TxID)
}

func behind(t *state.Table, b runtime.Bucket, key []byte, old store.Row, own runtime.TxID) error {
	if !old.Found || old.TxID <= own {
		return nil
	}
	return &store.TxIDBehindError{Operator: runtime.OperatorID(t.Operator), Bucket: b, Key: exchange.FormatKey(key), Row: old.TxID, Own: own}
}

// ReadRows reads state rows of one bucket; see store.Store.
func (s *Store) ReadRows(_ context.Context, t *state.Table, bucket runtime.Bucket, keys [][]byte) ([]store.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := make([]store.Row, len(keys))
	for i, key := range keys {
		rows[i] = clone(s.tables[t.Operator][rowKey{bucket, string(key)}])
	}
	return rows, nil
}

func clone(row store.Row) store.Row {
	row.Value, row.Prev = slices.Clone(row.Value), slices.Clone(row.Prev)
	return row
}

// Refused lists the entries that a commit would be refused for; see store.Store.
func (s *Store) Refused(_ context.Context, w store.Writes) (found []store.Refusal, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note := func(t *state.Table, b runtime.Bucket, key []byte, err error) error {
		var data *store.DataError
		if !errors.As(err, &data) {
			return err
		}
		reason := fmt.Sprintf("%v (SQLSTATE %s)", data.Err, data.Code)
		found = append(found, store.Refusal{Table: t, Bucket: b, Key: slices.Clone(key), Reason: reason})
		return nil
	}
	for i := range w.Folds {
		f := &w.Folds[i]
		for e := range f.Partials.All() {
			_, err := foldEntry(f, s.tables[f.Table.Operator][rowKey{f.Bucket, string(e.Key)}], e)
			if err := note(f.Table, f.Bucket, e.Key, err); err != nil {
				return nil, err
			}
		}
	}
	for i := range w.Rows {
		r := &w.Rows[i]
		for k, key := range r.Keys {
			_, err := written(r, s.tables[r.Table.Operator][rowKey{r.Bucket, string(key)}], key, r.Rows[k])
			if err := note(r.Table, r.Bucket, key, err); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// Dump copies the rows of a state table, by bucket and encoded key, for tests and the demo.
func (s *Store) Dump(t *state.Table) map[runtime.Bucket]map[string]store.Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	dump := make(map[runtime.Bucket]map[string]store.Row)
	for at, row := range s.tables[t.Operator] {
		if dump[at.bucket] == nil {
			dump[at.bucket] = make(map[string]store.Row)
		}
		dump[at.bucket][at.key] = clone(row)
	}
	return dump
}

// Letters copies the dead letters, in the order of their commits.
func (s *Store) Letters() []store.DeadLetter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.letters)
}
