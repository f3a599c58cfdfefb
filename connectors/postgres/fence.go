package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/selfregulating/sr/runtime"
)

// The statements of a fence, in this order. They are separate, because one statement has one snapshot:
// a writer being opened, or an input being given to the container, commits while the fence waits for its
// lock and must be seen by what comes after (PROTOCOL, Fencing).
const (
	fenceContainer = `UPDATE sr.container SET fenced = true WHERE topology = $1 AND incarnation = $2`

	lockInputs = `
SELECT FROM sr.progress WHERE topology = $1 AND (owner = $2 OR next_owner = $2)
ORDER BY operator, partition FOR UPDATE`

	takeInputs = `
UPDATE sr.progress SET
	owner = CASE WHEN owner = $2 THEN $3::uuid ELSE owner END,
	epoch = epoch + (owner IS NOT DISTINCT FROM $2)::integer,
	next_owner = NULL, next_ready = false
WHERE topology = $1 AND (owner = $2 OR next_owner = $2)`

	closeWriters = `
UPDATE sr.writer SET closed = true, closed_at = clock_timestamp()
WHERE topology = $1 AND container = $2 AND NOT closed`
)

// Fence ends a container and gives all that it owned to another; see store.Containers. It answers
// ErrFenced, and changes nothing, if that other is fenced itself. It may be repeated.
func (s *Store) Fence(ctx context.Context, c, to runtime.Incarnation) error {
	doing := fmt.Sprintf("fencing container %s", c)
	for attempt := 1; ; attempt++ {
		err := s.endingBlockers(ctx, func(ctx context.Context, tx pgx.Tx) error { return s.fence(ctx, tx, c, to) })
		if err == nil || attempt == maxAttempts || !interrupted(err) {
			return s.explain(doing, err)
		}
		// Another fence was in the way of this one, and ended it.
		s.log.Info("fence tried again", "topology", s.topology, "container", c, "error", err)
		if err := sleep(ctx, jitter(attempt)); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
}

func (s *Store) fence(ctx context.Context, tx pgx.Tx, c, to runtime.Incarnation) error {
	steps := []struct {
		sql  string
		args []any
	}{
		{fenceContainer, []any{s.topology, uuidArg(c)}},
		{lockInputs, []any{s.topology, uuidArg(c)}},
		{lockAlive, []any{s.topology, uuidArg(to)}},
		{takeInputs, []any{s.topology, uuidArg(c), uuidArg(to)}},
		{closeWriters, []any{s.topology, uuidArg(c)}},
	}
	for _, step := range steps {
		if step.sql == lockAlive && to.IsZero() {
			continue
		}
		if _, err := tx.Exec(ctx, step.sql, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// interrupted tells errors that say nothing about the rows: a fence is then simply done again.
func interrupted(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (ended(pg) || slices.Contains(passing, pg.Code))
}

// fenceGrace is how long a fence waits for locks before it ends who holds them: a healthy commit is done
// by then.
const fenceGrace = 250 * time.Millisecond

const endBlockers = `SELECT count(*) FILTER (WHERE pg_terminate_backend(p)) FROM unnest(pg_blocking_pids($1)) p WHERE p > 0`

// endingBlockers runs f in a transaction. As long as it lasts, a second connection ends the sessions
// that it waits for: a process that is frozen in the middle of a pipeline keeps its locks, and no timeout of
// Postgres ends it. The pids are the server's own, so that this works behind a pooler.
func (s *Store) endingBlockers(ctx context.Context, f func(context.Context, pgx.Tx) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	defer func() {
		cancel(nil)
		<-ended
	}()
	started := make(chan uint32, 1)
	go func() {
		defer close(ended)
		if err := s.watchBlockers(ctx, started); err != nil && ctx.Err() == nil {
			cancel(err)
		}
	}()
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var pid uint32
		if err := tx.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
			return err
		}
		started <- pid
		return f(ctx, tx)
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// watchBlockers ends the blockers of a session until ctx is done. It has a connection of its own: those
// of the pool may all be waiting for the same locks.
func (s *Store) watchBlockers(ctx context.Context, session <-chan uint32) error {
	var pid uint32
	select {
	case pid = <-session:
	case <-ctx.Done():
		return nil
	}
	if sleep(ctx, s.grace) != nil {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for {
		var n int
		if err := conn.QueryRow(ctx, endBlockers, pid).Scan(&n); err != nil {
			return fmt.Errorf("ending the sessions that hold its locks (this takes the same role, or pg_signal_backend): %w", err)
		}
		if n > 0 {
			s.log.Info("ended sessions that held the locks of a fence", "topology", s.topology, "sessions", n)
		}
		if sleep(ctx, 20*time.Millisecond) != nil {
			return nil
		}
	}
}
