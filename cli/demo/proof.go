package demo

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Result is the proof. In a folder that is kept, all numbers but Seconds are over all runs in it.
type Result struct {
	// Fed are the words of the text (dead letters apart), Counted the sum of the table's counts.
	Fed     int64 `json:"fed"`
	Counted int64 `json:"counted"`
	// Distinct are the rows of the table, DistinctFed the different words of the text.
	Distinct    int64 `json:"distinct"`
	DistinctFed int64 `json:"distinct_fed"`
	// Exact tells that each row is as the text has it, none is missing, and the dead letters are those expected.
	Exact bool `json:"exact"`
	// Seconds from the first record fed to the last word counted, in this run.
	Seconds float64 `json:"seconds"`
	// Records and Bytes fed. DeadLetters are the records that are no text for Postgres; DeadLettersFed how many
	// the text has.
	Records        int64 `json:"records"`
	Bytes          int64 `json:"bytes"`
	DeadLetters    int64 `json:"dead_letters"`
	DeadLettersFed int64 `json:"dead_letters_fed"`
	// ResumedRecords are those of Records that earlier runs had fed.
	ResumedRecords int64 `json:"resumed_records"`
	// Differences are some of the rows that are not as the text has them.
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is a word with its count in the text and in the table; 0 where it is missing.
type Difference struct {
	Word    string `json:"word"`
	Fed     int64  `json:"fed"`
	Counted int64  `json:"counted"`
}

// maxDifferences are enough to begin to search.
const maxDifferences = 5

// differ keeps some of the differences.
func (r *Result) differ(d Difference) {
	if len(r.Differences) < maxDifferences {
		r.Differences = append(r.Differences, d)
	}
	r.Exact = false
}

// prove compares the table with the truth, row by row. It uses the truth up.
func prove(ctx context.Context, db *pgx.Conn, t *truth) (Result, error) {
	r := Result{
		Fed: t.words, DistinctFed: int64(len(t.counts)), Exact: true,
		Records: t.records, Bytes: t.bytes, DeadLettersFed: t.deadLetters,
	}
	if err := r.compareAll(ctx, db, t); err != nil {
		return r, fmt.Errorf("reading the table word_counts: %w", err)
	}
	for word, n := range t.counts {
		r.differ(Difference{Word: word, Fed: *n})
	}
	if err := db.QueryRow(ctx, "SELECT count(*) FROM sr.dead_letter").Scan(&r.DeadLetters); err != nil {
		return r, fmt.Errorf("counting the dead letters: %w", err)
	}
	r.Exact = r.Exact && r.DeadLetters == r.DeadLettersFed
	return r, nil
}

func (r *Result) compareAll(ctx context.Context, db *pgx.Conn, t *truth) error {
	rows, err := db.Query(ctx, "SELECT word, count FROM word_counts")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var w wordCount
		if err := rows.Scan(&w.Word, &w.Count); err != nil {
			return err
		}
		r.compare(w, t)
	}
	return rows.Err()
}

// compare takes the word of a row out of the truth: what is left in the end is missing in the table.
func (r *Result) compare(w wordCount, t *truth) {
	r.Counted += w.Count
	r.Distinct++
	var fed int64
	if n := t.counts[w.Word]; n != nil {
		fed = *n
		delete(t.counts, w.Word)
	}
	if fed != w.Count {
		r.differ(Difference{Word: w.Word, Fed: fed, Counted: w.Count})
	}
}

// letters tells why some of the dead letters are such, a line each.
func letters(ctx context.Context, db *pgx.Conn) ([]string, error) {
	rows, err := db.Query(ctx, `
SELECT format('record %s of partition %s: %s', "offset", partition, error) FROM sr.dead_letter ORDER BY partition, "offset" LIMIT $1`, maxDifferences)
	if err == nil {
		var lines []string
		if lines, err = pgx.CollectRows(rows, pgx.RowTo[string]); err == nil {
			return lines, nil
		}
	}
	return nil, fmt.Errorf("reading the dead letters: %w", err)
}
