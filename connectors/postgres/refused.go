package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/store"
)

// Refused finds the entries that the database refuses; see store.Store. Everything is tried in one
// transaction that is rolled back.
func (s *Store) Refused(ctx context.Context, w store.Writes) (found []store.Refusal, err error) {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return nil, s.explain("looking for refused entries", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	for i := range w.Folds {
		if err := s.refusedOf(ctx, tx, foldTrial(&w.Folds[i]), &found); err != nil {
			return nil, s.explain("looking for refused entries", err)
		}
	}
	for i := range w.Rows {
		if err := s.refusedOf(ctx, tx, writeTrial(&w.Rows[i]), &found); err != nil {
			return nil, s.explain("looking for refused entries", err)
		}
	}
	return found, nil
}

// trial is a fold or a row write of which any part can be tried.
type trial struct {
	store.Refusal // of any of its entries, without key and reason
	entries       int
	key           func(i int) []byte
	add           func(a *rowArrays, l *layout, from, to int) error
	sql           func(*table) string
	prevs         bool
}

func foldTrial(f *store.Fold) trial {
	refs := f.Partials.Sorted(nil)
	return trial{
		Refusal: store.Refusal{Table: f.Table, Bucket: f.Bucket},
		entries: len(refs),
		key: func(i int) []byte {
			var e exchange.Entry
			f.Partials.Load(refs[i], &e)
			return append([]byte(nil), e.Key...)
		},
		add: func(a *rowArrays, l *layout, from, to int) error { return a.addEntries(l, f, refs[from:to]) },
		sql: func(t *table) string { return t.fold },
	}
}

func writeTrial(w *store.RowWrite) trial {
	return trial{
		Refusal: store.Refusal{Table: w.Table, Bucket: w.Bucket},
		entries: len(w.Keys),
		key:     func(i int) []byte { return w.Keys[i] },
		add:     func(a *rowArrays, l *layout, from, to int) error { return a.addRows(l, w, from, to) },
		sql:     func(t *table) string { return t.write },
		prevs:   true,
	}
}

func (s *Store) refusedOf(ctx context.Context, tx pgx.Tx, what trial, found *[]store.Refusal) error {
	t, err := s.table(what.Table)
	if err != nil {
		return err
	}
	var bisect func(from, to int) error
	bisect = func(from, to int) error {
		if from == to {
			return nil
		}
		err := tryPart(ctx, tx, t, what, from, to)
		var pg *pgconn.PgError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &pg) || !isDataError(pg.Code):
			return err
		case to-from == 1:
			refusal := what.Refusal
			refusal.Key, refusal.Reason = what.key(from), fmt.Sprintf("%s (SQLSTATE %s)", pg.Message, pg.Code)
			*found = append(*found, refusal)
			return nil
		}
		middle := (from + to) / 2
		return errors.Join(bisect(from, middle), bisect(middle, to))
	}
	return bisect(0, what.entries)
}

// tryPart tries some entries under a savepoint and takes them back.
func tryPart(ctx context.Context, tx pgx.Tx, t *table, what trial, from, to int) error {
	var a rowArrays
	a.reset(&t.layout)
	if err := what.add(&a, &t.layout, from, to); err != nil {
		return err
	}
	savepoint, err := tx.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = savepoint.Rollback(ctx) }()
	sql := what.sql(t)
	prepared, err := tx.Conn().Prepare(ctx, sql, sql)
	if err != nil {
		return err
	}
	_, err = tx.Conn().PgConn().ExecPrepared(ctx, prepared.Name, a.params(&t.layout, what.prevs), binaryFormat, nil).Close()
	return err
}
