package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/selfregulating/sr/runtime"
)

const planMove = `
WITH u AS (
	UPDATE sr.progress SET next_owner = $5, next_ready = false
	WHERE topology = $1 AND operator = $2 AND partition = $3 AND owner = $4 AND next_owner IS NULL RETURNING 1
)
SELECT sr.assert_count((SELECT count(*) FROM u), 1, 'progress')`

// Plan sets the next owner of an input that from owns, if no move is planned (Moving 1). It answers
// ErrFenced if to is fenced, ErrLost if the row is not so.
func (s *Store) Plan(ctx context.Context, in runtime.Input, from, to runtime.Incarnation) error {
	b := &pgx.Batch{}
	b.Queue(lockAlive, s.topology, uuidArg(to))
	b.Queue(planMove, s.topology, in.Operator, in.Partition, uuidArg(from), uuidArg(to))
	return s.together(ctx, fmt.Sprintf("planning a move of %s", in), b)
}

const readyMove = `
UPDATE sr.progress SET next_ready = true
WHERE topology = $1 AND operator = $2 AND partition = $3 AND next_owner = $4`

// Ready says that the next owner has loaded what it needs (Moving 2).
func (s *Store) Ready(ctx context.Context, in runtime.Input, next runtime.Incarnation) error {
	_, err := s.exec(ctx, fmt.Sprintf("preparing to take %s", in), readyMove, s.topology, in.Operator, in.Partition, uuidArg(next))
	return err
}

const giveInput = `
WITH u AS (
	UPDATE sr.progress SET owner = next_owner, epoch = epoch + 1, next_owner = NULL, next_ready = false
	WHERE topology = $1 AND operator = $2 AND partition = $3 AND owner = $4 AND epoch = $5 AND next_owner = $6 RETURNING 1
)
SELECT sr.assert_count((SELECT count(*) FROM u), 1, 'progress')`

// Give hands an input over in a commit that moves nothing else (Moving 3). It answers ErrLost if the
// row does not name this owner, epoch and next owner.
func (s *Store) Give(ctx context.Context, in runtime.Input, owner runtime.Incarnation, epoch runtime.Epoch, to runtime.Incarnation) error {
	_, err := s.exec(ctx, fmt.Sprintf("giving away %s", in), giveInput,
		s.topology, in.Operator, in.Partition, uuidArg(owner), epoch, uuidArg(to))
	return err
}
