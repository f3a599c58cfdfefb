package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/store"
)

const (
	insertContainer = `
INSERT INTO sr.container (topology, incarnation, container, lease_until)
VALUES ($1, $2, $3, clock_timestamp() + $4)`

	// forgetContainers keeps the table small. A row that is gone means the same as a fenced one.
	forgetContainers = `
DELETE FROM sr.container WHERE topology = $1 AND fenced AND lease_until < clock_timestamp() - interval '1 day'`
)

// Register starts a container incarnation with a lease; see store.Containers.
func (s *Store) Register(ctx context.Context, c store.Container, lease time.Duration) error {
	b := &pgx.Batch{}
	b.Queue(insertContainer, s.topology, uuidArg(c.Incarnation), storable(c.Name), lease)
	b.Queue(forgetContainers, s.topology)
	return s.together(ctx, "registering container "+c.Name, b)
}

const (
	renewLease = `
WITH u AS (
	UPDATE sr.container SET renewed = renewed + 1, lease_until = clock_timestamp() + $3
	WHERE topology = $1 AND incarnation = $2 AND NOT fenced RETURNING 1
)
SELECT sr.assert_count((SELECT count(*) FROM u), 1, 'container')`

	// closeStray runs under the lock of the container row, so that no writer is being opened (Writing 6).
	closeStray = `
UPDATE sr.writer SET closed = true, closed_at = clock_timestamp()
WHERE topology = $1 AND container = $2 AND NOT closed AND writer <> ALL($3)`
)

// Heartbeat renews the lease and closes stray writers; see store.Containers.
func (s *Store) Heartbeat(ctx context.Context, c runtime.Incarnation, lease time.Duration, inUse []runtime.WriterID) error {
	b := &pgx.Batch{}
	b.Queue(renewLease, s.topology, uuidArg(c), lease)
	b.Queue(closeStray, s.topology, uuidArg(c), uuidArgs(inUse))
	return s.together(ctx, fmt.Sprintf("renewing the lease of %s", c), b)
}

const selectHolders = `
SELECT container, incarnation, renewed, lease_until - clock_timestamp()
FROM sr.container WHERE topology = $1 AND incarnation IS DISTINCT FROM $2 AND NOT fenced ORDER BY incarnation`

// Holders lists the other unfenced containers; see store.Containers.
func (s *Store) Holders(ctx context.Context, c runtime.Incarnation) ([]store.Holder, error) {
	rows, err := s.pool.Query(ctx, selectHolders, s.topology, uuidArg(c))
	if err != nil {
		return nil, s.explain("reading containers", err)
	}
	holders, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h store.Holder, err error) {
		var id pgtype.UUID
		err = row.Scan(&h.Name, &id, &h.Renewed, &h.LeaseLeft)
		h.Incarnation = id.Bytes
		return h, err
	})
	return holders, s.explain("reading containers", err)
}

// Unregister ends a container that has nothing in flight; see store.Containers.
func (s *Store) Unregister(ctx context.Context, c runtime.Incarnation) error {
	return s.Fence(ctx, c, runtime.Incarnation{})
}
