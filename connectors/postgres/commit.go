package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

// statement is one prepared statement of a commit with its parameters, all in binary format.
type statement struct {
	sql    string
	params [][]byte
	// gone tells that the second column of the answer lists pruned writers.
	gone bool
	// data is what the statement's data belongs to; nil if an error cannot come from data.
	data *subject
}

// maxAttempts bounds how often an identical commit is tried after deadlocks and the like.
const maxAttempts = 8

// Commit runs one implicit transaction in one round trip; see store.Store.
func (s *Store) Commit(ctx context.Context, c protocol.Commit, w store.Writes) (protocol.Result, error) {
	b := s.scratch.Get().(*commitScratch)
	defer s.scratch.Put(b)
	statements, err := s.build(b, &c, &w)
	if err != nil {
		return protocol.Result{}, err
	}
	if len(statements) == 0 {
		return protocol.Result{}, nil
	}
	for attempt := 1; ; attempt++ {
		result, err := s.attempt(ctx, statements)
		if !errors.Is(err, errAgain) {
			return result, err
		}
		if attempt == maxAttempts {
			return result, fmt.Errorf("giving up after %d attempts: %w: %w", attempt, protocol.ErrLost, err)
		}
		s.log.Debug("commit tried again", "topology", s.topology, "attempt", attempt, "error", err)
		if err := sleep(ctx, jitter(attempt)); err != nil {
			return result, fmt.Errorf("committing: %w", err)
		}
	}
}

// jitter is 1 to 2 ms at first and doubles.
func jitter(attempt int) time.Duration {
	base := time.Millisecond << (attempt - 1)
	return base + rand.N(base)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt runs the statements once. Until they are sent nothing can have happened, and a connection that
// fails is replaced.
func (s *Store) attempt(ctx context.Context, statements []statement) (protocol.Result, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return protocol.Result{}, s.explain("committing", err)
	}
	defer conn.Release()
	batch := &pgconn.Batch{}
	for i := range statements {
		prepared, err := conn.Conn().Prepare(ctx, statements[i].sql, statements[i].sql)
		if err != nil {
			return protocol.Result{}, s.unsent(conn.Conn(), err)
		}
		batch.ExecPrepared(prepared.Name, statements[i].params, binaryFormat, binaryFormat)
	}
	return s.send(ctx, conn.Conn(), batch, statements)
}

// binaryFormat is the format of all parameters and results.
var binaryFormat = []int16{pgx.BinaryFormatCode}

// unsent explains an error from before the statements were sent.
func (s *Store) unsent(conn *pgx.Conn, err error) error {
	if conn.IsClosed() {
		return fmt.Errorf("%w: preparing the commit: %w", errAgain, err)
	}
	return s.explain("preparing the commit", err)
}

// send runs the batch: the Sync at its end makes it one implicit transaction.
func (s *Store) send(ctx context.Context, conn *pgx.Conn, batch *pgconn.Batch, statements []statement) (res protocol.Result, err error) {
	results := conn.PgConn().ExecBatch(ctx, batch)
	done := 0
	for ; results.NextResult(); done++ {
		result := results.ResultReader().Read()
		if result.Err != nil {
			break
		}
		if statements[done].gone && len(result.Rows) == 1 {
			if res.Gone, err = parseUUIDs[runtime.WriterID](result.Rows[0][1]); err != nil {
				_ = results.Close()
				return res, fmt.Errorf("committing: %w: %w", protocol.ErrUnknown, err)
			}
		}
	}
	if err := results.Close(); err != nil {
		return protocol.Result{}, s.outcome(err, statements[min(done, len(statements)-1)].data)
	}
	return res, nil
}
