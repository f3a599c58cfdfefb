package migrations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB is what migrations need of a connection or a pool.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Step is one migration and whether the database has it.
type Step struct {
	Version int
	Name    string
	// Applied is when, by the server's clock; zero if it is not applied.
	Applied time.Time
}

// Up brings the database to the newest version that this binary knows, or answers a *NewerError. A
// database that is there already is only read.
func Up(ctx context.Context, db DB) error {
	all, err := load(files)
	if err != nil {
		return err
	}
	return upTo(ctx, db, all)
}

func upTo(ctx context.Context, db DB, all []migration) error {
	if current, err := isCurrent(ctx, db, all); err != nil || current {
		return err
	}
	return exclusively(ctx, db, func(tx pgx.Tx) error {
		if err := exec(ctx, tx, createVersions); err != nil {
			return fmt.Errorf("creating schema sr: %w", err)
		}
		at, err := version(ctx, tx, all)
		if err != nil {
			return err
		}
		for _, m := range all[at:] {
			if err := step(ctx, tx, m, m.up, insertVersion, m.version, m.name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Down takes the newest migrations back until the database has version to (0: an empty schema sr).
// It destroys what those migrations made, data included.
func Down(ctx context.Context, db DB, to int) error {
	all, err := load(files)
	if err != nil {
		return err
	}
	return exclusively(ctx, db, func(tx pgx.Tx) error {
		at, err := version(ctx, tx, all)
		if err != nil {
			return err
		}
		for ; at > max(to, 0); at-- {
			m := all[at-1]
			if err := step(ctx, tx, m, m.down, deleteVersion, m.version); err != nil {
				return err
			}
		}
		return nil
	})
}

// Status lists every migration of this binary. It changes nothing.
func Status(ctx context.Context, db DB) ([]Step, error) {
	all, err := load(files)
	if err != nil {
		return nil, err
	}
	tx, err := db.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading schema versions: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	applied, err := versions(ctx, tx)
	if err != nil {
		return nil, err
	}
	steps := make([]Step, len(all))
	for i, m := range all {
		steps[i] = Step{m.version, m.name, applied[m.version]}
	}
	return steps, nil
}

// lock serializes runners of one database; the numbers are "sr" and "mig" in ASCII.
const lock = `SELECT pg_advisory_xact_lock(29554, 7170407)`

const createVersions = `
CREATE SCHEMA IF NOT EXISTS sr;
CREATE TABLE IF NOT EXISTS sr.migration (
	version integer PRIMARY KEY,
	name    text NOT NULL,
	applied timestamptz NOT NULL DEFAULT clock_timestamp()
)`

const (
	haveVersions  = `SELECT to_regclass('sr.migration') IS NOT NULL`
	selectVersion = `SELECT version, applied FROM sr.migration`
	insertVersion = `INSERT INTO sr.migration (version, name) VALUES ($1, $2)`
	deleteVersion = `DELETE FROM sr.migration WHERE version = $1`
)

// exclusively runs f in a transaction that no other runner is in.
func exclusively(ctx context.Context, db DB, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := exec(ctx, tx, lock); err != nil {
			return fmt.Errorf("waiting for other migrations: %w", err)
		}
		return f(tx)
	})
}

// isCurrent tells without any lock whether there is nothing to do, so that a role that may not create
// schemas can run on a database that another has prepared.
func isCurrent(ctx context.Context, db DB, all []migration) (current bool, err error) {
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		at, err := version(ctx, tx, all)
		current = at == len(all)
		return err
	})
	return current, err
}

// version is the newest version applied, 0 if none.
func version(ctx context.Context, tx pgx.Tx, all []migration) (int, error) {
	applied, err := versions(ctx, tx)
	if err != nil {
		return 0, err
	}
	newest := 0
	for v := range applied {
		newest = max(newest, v)
	}
	if newest > len(all) {
		return 0, &NewerError{Database: newest, Binary: len(all)}
	}
	if newest != len(applied) {
		return 0, errors.New("sr.migration lacks a version below the newest one: somebody changed it by hand; put the row back")
	}
	return newest, nil
}

func versions(ctx context.Context, tx pgx.Tx) (map[int]time.Time, error) {
	var have bool
	if err := tx.QueryRow(ctx, haveVersions, pgx.QueryExecModeExec).Scan(&have); err != nil || !have {
		return nil, wrap("looking for sr.migration", err)
	}
	rows, err := tx.Query(ctx, selectVersion, pgx.QueryExecModeExec)
	if err != nil {
		return nil, fmt.Errorf("reading sr.migration: %w", err)
	}
	type version struct {
		Number  int
		Applied time.Time
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[version])
	applied := make(map[int]time.Time, len(list))
	for _, v := range list {
		applied[v.Number] = v.Applied
	}
	return applied, wrap("reading sr.migration", err)
}

// step runs one file and records it.
func step(ctx context.Context, tx pgx.Tx, m migration, sql, record string, args ...any) error {
	if err := exec(ctx, tx, sql); err != nil {
		return fmt.Errorf("applying migration %04d_%s: %w", m.version, m.name, located(err))
	}
	if _, err := tx.Exec(ctx, record, append([]any{pgx.QueryExecModeExec}, args...)...); err != nil {
		return fmt.Errorf("recording migration %04d_%s: %w", m.version, m.name, err)
	}
	return nil
}

// exec runs a text of many statements.
func exec(ctx context.Context, tx pgx.Tx, sql string) error {
	return tx.Conn().PgConn().Exec(ctx, sql).Close()
}

// located adds what Postgres says about the place of an error.
func located(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Position > 0 {
		return fmt.Errorf("at character %d: %w", pg.Position, err)
	}
	return err
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
