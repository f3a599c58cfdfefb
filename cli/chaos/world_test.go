//go:build kafka

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/selfregulating/sr/cli/chaos/cell"
	"github.com/selfregulating/sr/connectors/kafka/kafkatest"
	"github.com/selfregulating/sr/connectors/postgres/pgtest"
)

// world is a cell with a topic and a database of its own, and the truth about what was fed.
type world struct {
	t       testing.TB
	cell    cell.Cell
	rand    *rand.Rand
	kafka   string
	url     string
	pool    *pgxpool.Pool
	topic   string
	dir     string
	nodes   int
	begun   time.Time
	*feeder // of the topic
}

// setting is what a world may have of its own.
type setting struct {
	kafka      string // instead of the shared broker
	url        string // instead of a database of the shared server
	partitions int32  // 4
	topic      map[string]string
}

func newWorld(t testing.TB, c cell.Cell, s setting) *world {
	t.Helper()
	w := &world{t: t, cell: c, rand: random(t), kafka: s.kafka, url: s.url, dir: t.TempDir(), begun: time.Now()}
	if w.kafka == "" {
		w.kafka = kafkatest.Addr(t)
	}
	if w.url == "" {
		w.url = pgtest.URL(t)
	}
	if s.partitions == 0 {
		s.partitions = 4
	}
	var err error
	w.pool, err = pgxpool.New(context.Background(), w.url)
	must(t, err)
	t.Cleanup(w.pool.Close)
	w.topic = fmt.Sprintf("chaos.%016x", rand.Uint64())
	w.feeder = newFeeder(t, w.kafka, w.topic, rand.New(rand.NewPCG(w.rand.Uint64(), w.rand.Uint64())))
	w.create(s.partitions, s.topic)
	t.Cleanup(func() {
		tally.fed(c.String(), w.fed())
		tally.checked(c.String(), time.Since(w.begun))
	})
	return w
}

// one is the only row of a query that answers a number.
func (w *world) one(sql string, args ...any) (n int64) {
	w.t.Helper()
	must(w.t, w.pool.QueryRow(context.Background(), sql, args...).Scan(&n))
	return n
}

// each calls f for every row of a query, whose columns are then in into.
func (w *world) each(sql string, into []any, f func()) {
	w.t.Helper()
	rows, err := w.pool.Query(context.Background(), sql)
	must(w.t, err)
	_, err = pgx.ForEachRow(rows, into, func() error {
		f()
		return nil
	})
	must(w.t, errors.Join(err, rows.Err()))
}

// moved is how many records the source's progress stands for. It is 0 before the first run.
func (w *world) moved() (n int64) {
	err := w.pool.QueryRow(context.Background(), `SELECT coalesce(sum(position), 0)::bigint FROM sr.progress WHERE operator = 'source'`).Scan(&n)
	if err != nil {
		return 0
	}
	return n
}

// moves waits until the source's progress has moved by n offsets.
func (w *world) moves(n int64) {
	w.t.Helper()
	from := w.moved()
	eventually(w.t, "progress of the source", func() bool { return w.moved() >= from+n })
}

// feedUntil keeps feeding a little, so that a node gets to where it is expected whatever its batches are.
func (w *world) feedUntil(so func() bool) {
	w.t.Helper()
	eventually(w.t, "what a node was fed for", func() bool {
		w.feed(100)
		time.Sleep(20 * time.Millisecond)
		return so()
	})
}

// settle runs the cell until all is counted, and compares it with the truth.
func (w *world) settle(l launch) {
	w.t.Helper()
	l.untilCaughtUp = true
	w.start(l).succeeds()
	w.check()
}
