package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// wordCount is a row of the view word_counts.
type wordCount struct {
	Word  string
	Count int64
}

// glance is what anybody sees who asks the database.
type glance struct {
	top               []wordCount
	counted, rows     int64
	read, deadLetters int64 // records
}

const (
	topWords = `
SELECT word, count, (sum(count) OVER ())::bigint AS counted, count(*) OVER () AS rows
FROM word_counts ORDER BY count DESC, word LIMIT 10`

	readSoFar = `
SELECT coalesce((SELECT sum(position) FROM sr.progress WHERE operator = 'sentences'), 0)::bigint,
	(SELECT count(*) FROM sr.dead_letter)`
)

// look asks the database. Before the word count has made its tables there is nothing to see.
func look(ctx context.Context, db *pgx.Conn) (glance, error) {
	g, err := lookAtTop(ctx, db)
	if err == nil {
		err = db.QueryRow(ctx, readSoFar).Scan(&g.read, &g.deadLetters)
	}
	if missing(err) {
		return glance{}, nil
	}
	if err != nil {
		return glance{}, fmt.Errorf("looking at the counts: %w", err)
	}
	return g, nil
}

func lookAtTop(ctx context.Context, db *pgx.Conn) (glance, error) {
	var g glance
	rows, err := db.Query(ctx, topWords)
	if err != nil {
		return g, err
	}
	g.top, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (w wordCount, err error) {
		err = row.Scan(&w.Word, &w.Count, &g.counted, &g.rows)
		return w, err
	})
	return g, err
}

func missing(err error) bool {
	var answer *pgconn.PgError
	const undefinedTable, noSchema = "42P01", "3F000"
	return errors.As(err, &answer) && (answer.Code == undefinedTable || answer.Code == noSchema)
}
