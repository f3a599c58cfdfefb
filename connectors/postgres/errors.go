package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

// errAgain: the transaction had no effect, and the identical one may be tried again.
var errAgain = errors.New("the database could not run the transaction now")

// SQLSTATEs. Those that begin with SR are raised by the functions of package migrations.
const (
	stateLost         = "SR001"
	stateBehind       = "SR002"
	stateNoPermission = "42501"
	stateFull         = "53100"
	stateTooLarge     = "54000" // an index row that no page holds
	stateTwice        = "21000" // two keys that differ in sr and are one in Postgres
	stateTable        = "42P07"
)

// passing are errors that go away by themselves: serialization failure, deadlock, lock timeout, cancelled
// by a timeout or a person.
var passing = []string{"40001", "40P01", "55P03", "57014"}

// outcome explains an error that ended a commit after it was sent. data is what the statement that
// failed was about.
func (s *Store) outcome(err error, data *subject) error {
	var pg *pgconn.PgError
	switch {
	case pgconn.SafeToRetry(err):
		return fmt.Errorf("%w: %w", errAgain, err)
	case !errors.As(err, &pg), ended(pg):
		return fmt.Errorf("committing: %w: %w", protocol.ErrUnknown, err)
	case slices.Contains(passing, pg.Code):
		return fmt.Errorf("%w: %w", errAgain, err)
	case data != nil && pg.Code == stateBehind:
		return behind(pg, data)
	case data != nil && isDataError(pg.Code):
		return &store.DataError{Operator: data.operator, Bucket: data.bucket, Code: pg.Code, Err: err}
	}
	return s.explain("committing", err)
}

// ended tells whether the server ended the session. It may do so after the commit: waiting for a
// synchronous standby is interrupted with the transaction already durable.
func ended(pg *pgconn.PgError) bool {
	return pg.Severity == "FATAL" || pg.Severity == "PANIC" || strings.HasPrefix(pg.Code, "57P")
}

func isDataError(code string) bool {
	return strings.HasPrefix(code, "22") || code == stateTooLarge || code == stateTwice
}

// behind reads what sr.txid_behind raised.
func behind(pg *pgconn.PgError, data *subject) error {
	var row struct {
		Bucket      runtime.Bucket
		Key         string
		Stored, Own runtime.TxID
	}
	if err := json.Unmarshal([]byte(pg.Detail), &row); err != nil {
		return fmt.Errorf("committing: %w", pg)
	}
	return &store.TxIDBehindError{Operator: data.operator, Bucket: row.Bucket, Key: row.Key, Row: row.Stored, Own: row.Own}
}

// explain wraps an error of anything but a sent commit in what it means to the caller.
func (s *Store) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	var pg *pgconn.PgError
	switch {
	case !errors.As(err, &pg):
		if connectionLost(err) && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w: %s: %w", doing, store.ErrUnreachable, s.address, err)
		}
		return fmt.Errorf("%s: %w", doing, err)
	case pg.Code == stateLost && pg.Detail == "container":
		return fmt.Errorf("%s: %w", doing, protocol.ErrFenced)
	case pg.Code == stateLost:
		return fmt.Errorf("%s: %s: %w", doing, pg.Message, protocol.ErrLost)
	case pg.Code == stateNoPermission:
		return fmt.Errorf("%s: %w: role %s: %w", doing, store.ErrNoPermission, s.role, err)
	case pg.Code == stateFull:
		return fmt.Errorf("%s: %w: %s", doing, store.ErrFull, pg.Message)
	case ended(pg), refusesEntry(pg.Code):
		return fmt.Errorf("%s: %w: %s: %w", doing, store.ErrUnreachable, s.address, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// refusesEntry: wrong password or role, no such database, too many connections.
func refusesEntry(code string) bool {
	return strings.HasPrefix(code, "28") || strings.HasPrefix(code, "08") || code == "3D000" || code == "53300"
}

// connectionLost tells errors of the way to the database from those of this program.
func connectionLost(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
