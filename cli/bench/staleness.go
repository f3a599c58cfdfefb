package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
)

// Every markerEvery-th record of a partition ends with a word of its own, by which an independent
// reader sees when that record is visible in Postgres.
const markerEvery = 2000

// marker is the word of a record, "~" and partition and offset; "" for most records.
func marker(partition int32, offset int64) string {
	if offset%markerEvery != markerEvery-1 {
		return ""
	}
	return fmt.Sprintf("~%d-%d", partition, offset/markerEvery)
}

// watch follows one topology: it notes when markers were consumed, by the node's own positions, and
// when an independent reader sees them in the table. What it reads is what any user could.
type watch struct {
	conn    *pgx.Conn
	buckets int
	next    map[int32]int64    // by partition: the marker offset that is to be consumed next
	waiting map[string]waiting // consumed, not seen yet
	// Stale are, for each sample, the seconds since the oldest record that was consumed and is not visible.
	stale []float64
}

type waiting struct {
	since  time.Time
	bucket runtime.Bucket
}

func newWatch(ctx context.Context, url string, buckets int) (*watch, error) {
	conn, err := independentReader(ctx, url)
	if err != nil {
		return nil, err
	}
	return &watch{conn: conn, buckets: buckets, next: map[int32]int64{}, waiting: map[string]waiting{}}, nil
}

// independentReader connects as any user would. A few keys are looked up in a table that is being
// filled, so the planner has no statistics yet to choose the index by.
func independentReader(ctx context.Context, url string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("connecting the independent reader: %w", err)
	}
	if _, err := conn.Exec(ctx, "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"); err != nil {
		return nil, fmt.Errorf("preparing the independent reader: %w", err)
	}
	return conn, nil
}

// consumed notes the markers below the positions of a reading. They count as consumed at the reading
// before, so that what is measured is never less than the truth.
func (w *watch) consumed(before, r reading) {
	for p, position := range r.positions {
		for {
			at, known := w.next[p]
			if !known {
				at = markerEvery - 1
			}
			if at >= position {
				break
			}
			word := marker(p, at)
			since := before.at
			if since.IsZero() {
				since = r.at
			}
			w.waiting[word] = waiting{since, exchange.Bucket(exchange.AppendText(nil, word), w.buckets)}
			w.next[p] = at + markerEvery
		}
	}
}

// seenMarkers finds those of some words that have a row.
const seenMarkers = `SELECT s.word FROM unnest($1::integer[], $2::text[]) AS w(bucket, word)
JOIN sr_state.srbench__counts s ON s.bucket = w.bucket AND s.word = w.word`

// look asks which markers are visible, and takes a sample of the staleness.
func (w *watch) look(ctx context.Context) error {
	var buckets []int32
	var words []string
	for word, m := range w.waiting {
		buckets, words = append(buckets, m.bucket), append(words, word)
	}
	if len(words) > 0 {
		rows, err := w.conn.Query(ctx, seenMarkers, buckets, words)
		if err != nil {
			return fmt.Errorf("looking for markers: %w", err)
		}
		seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("looking for markers: %w", err)
		}
		for _, word := range seen {
			delete(w.waiting, word)
		}
	}
	now, oldest := time.Now(), time.Now()
	for _, m := range w.waiting {
		if m.since.Before(oldest) {
			oldest = m.since
		}
	}
	w.stale = append(w.stale, now.Sub(oldest).Seconds())
	return nil
}
