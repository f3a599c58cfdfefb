package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
)

// openWriter inserts under the container row, which a fence changes first (Writing 1).
const openWriter = `
INSERT INTO sr.writer (topology, writer, stage, container)
SELECT topology, $3, $4, incarnation FROM sr.container
WHERE topology = $1 AND incarnation = $2 AND NOT fenced FOR SHARE`

// OpenWriter inserts a writer of a living container; see store.Writers.
func (s *Store) OpenWriter(ctx context.Context, c runtime.Incarnation, stage string, id runtime.WriterID) error {
	n, err := s.exec(ctx, "opening a writer of stage "+stage, openWriter, s.topology, uuidArg(c), uuidArg(id), stage)
	if err == nil && n == 0 {
		return fmt.Errorf("opening a writer of stage %s: %w", stage, protocol.ErrFenced)
	}
	return err
}

const closeWriter = `
UPDATE sr.writer SET closed = true, closed_at = clock_timestamp()
WHERE topology = $1 AND writer = $2 AND NOT closed`

// CloseWriter closes a writer; one that is closed or gone stays so.
func (s *Store) CloseWriter(ctx context.Context, id runtime.WriterID) error {
	_, err := s.exec(ctx, fmt.Sprintf("closing writer %s", id), closeWriter, s.topology, uuidArg(id))
	return err
}

const selectView = `SELECT writer, committed_seq, closed FROM sr.writer WHERE topology = $1 AND writer = ANY($2) ORDER BY writer`

// View reads one snapshot of the writers named; see store.Writers.
func (s *Store) View(ctx context.Context, ids []runtime.WriterID) (protocol.View, error) {
	rows, err := s.pool.Query(ctx, selectView, s.topology, uuidArgs(ids))
	if err != nil {
		return nil, s.explain("reading writers", err)
	}
	view, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w protocol.WriterState, err error) {
		var id pgtype.UUID
		err = row.Scan(&id, &w.Committed, &w.Closed)
		w.Writer = id.Bytes
		return w, err
	})
	return view, s.explain("reading writers", err)
}

const selectUnlisted = `
SELECT writer FROM sr.writer WHERE topology = $1 AND stage = $2 AND closed AND close_offsets IS NULL ORDER BY writer`

// Unlisted returns closed writers that have no close offsets yet; see store.Writers.
func (s *Store) Unlisted(ctx context.Context, stage string) ([]runtime.WriterID, error) {
	rows, err := s.pool.Query(ctx, selectUnlisted, s.topology, stage)
	if err != nil {
		return nil, s.explain("reading closed writers", err)
	}
	ids, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (runtime.WriterID, error) {
		var id pgtype.UUID
		err := row.Scan(&id)
		return id.Bytes, err
	})
	return ids, s.explain("reading closed writers", err)
}

type closeOffset struct {
	Operator  runtime.OperatorID `json:"operator"`
	Partition int32              `json:"partition"`
	Offset    runtime.Offset     `json:"offset"`
}

const listClose = `
UPDATE sr.writer SET close_offsets = $3::text::jsonb
WHERE topology = $1 AND writer = ANY($2) AND closed AND close_offsets IS NULL`

// ListClose stores the end offsets of every out-bucket; see store.Writers.
func (s *Store) ListClose(ctx context.Context, ids []runtime.WriterID, offsets []protocol.CloseOffset) error {
	list := make([]closeOffset, len(offsets))
	for i, o := range offsets {
		list[i] = closeOffset{o.Input.Operator, o.Input.Partition, o.Offset}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, "storing close offsets", listClose, s.topology, uuidArgs(ids), string(text))
	return err
}

const deleteWriters = `
DELETE FROM sr.writer w
WHERE topology = $1 AND closed AND close_offsets IS NOT NULL AND closed_at <= clock_timestamp() - $2::interval
	AND NOT EXISTS (
		SELECT FROM jsonb_to_recordset(close_offsets) AS o(operator text, partition integer, "offset" bigint)
		LEFT JOIN sr.progress p ON p.topology = w.topology AND p.operator = o.operator COLLATE "C" AND p.partition = o.partition
		WHERE p.position IS NULL OR p.position < o."offset")`

// DeleteWriters deletes the rows that no bucket needs any more; see store.Writers.
func (s *Store) DeleteWriters(ctx context.Context, margin time.Duration) (int, error) {
	n, err := s.exec(ctx, "deleting closed writers", deleteWriters, s.topology, margin)
	return int(n), err
}
