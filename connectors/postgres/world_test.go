package postgres

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selfregulating/sr/connectors/postgres/pgtest"
	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// world is a store with containers a and b, two buckets of operator counts that a owns at epoch 1, a
// writer of a, and a connection of the test's own.
type world struct {
	*Store
	t      *testing.T
	url    string
	a, b   runtime.Incarnation
	writer runtime.WriterID
	table  *state.Table
	raw    *pgx.Conn
}

func newWorld(t *testing.T) *world { return newWorldAt(t, pgtest.URL(t), nil) }

// newWorldAt lets the store connect by another way than the test; nil for the same.
func newWorldAt(t *testing.T, direct string, way func(string) string) *world {
	t.Helper()
	w := &world{t: t, url: direct, a: runtime.NewIncarnation(), b: runtime.NewIncarnation(), writer: runtime.NewWriterID(), table: wordTable()}
	storeURL := direct
	if way != nil {
		storeURL = way(direct)
	}
	w.Store = open(t, storeURL, w.table)
	w.grace = time.Hour
	check(t, w.Register(t.Context(), store.Container{Name: "a", Incarnation: w.a}, time.Minute))
	check(t, w.Register(t.Context(), store.Container{Name: "b", Incarnation: w.b}, time.Minute))
	check(t, w.AddInputs(t.Context(), []protocol.Progress{{Input: bucket(0)}, {Input: bucket(1)}}))
	check(t, w.Assign(t.Context(), w.a, "counts"))
	check(t, w.OpenWriter(t.Context(), w.a, "words", w.writer))
	w.raw = w.connect()
	return w
}

func wordTable() *state.Table {
	return &state.Table{
		Operator: "counts", View: "word_counts", Keys: []state.Column{{Name: "word", Type: state.Text}},
		Values: []state.Aggregate{{Name: "count", Fold: state.FoldCount, Type: state.Bigint}}, Kind: state.Transactional, Buckets: 2,
	}
}

func bucket(n int32) runtime.Input { return runtime.Input{Operator: "counts", Partition: n} }

func (w *world) connect() *pgx.Conn {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.url)
	check(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// commit moves bucket 0 to txid, counts one word and moves the writer.
func (w *world) commit(ctx context.Context, txid runtime.TxID) error {
	w.t.Helper()
	_, err := w.Commit(ctx, protocol.Commit{
		Container: w.a,
		Moves:     []protocol.Move{{Input: bucket(0), Epoch: 1, TxID: txid, Position: int64(txid), Applied: protocol.Applied{}}},
		Writer:    protocol.WriterSeq{Writer: w.writer, Seq: runtime.Seq(txid)},
	}, store.Writes{Folds: []store.Fold{{Table: w.table, TxID: txid, Partials: oneWord(w.t)}}})
	return err
}

func oneWord(t testing.TB) *exchange.BucketTable {
	t.Helper()
	shape, err := exchange.NewShape(exchange.Layout{exchange.AddInt}, true)
	check(t, err)
	table := exchange.NewTable(shape, 1)
	table.AddText("word", 1)
	check(t, table.CommitRecord())
	return table.Bucket(0)
}

// committed tells what the rows say: the txid of bucket 0, the count, the seq of the writer, which must agree.
func (w *world) committed() (txid, count, seq int64) {
	w.t.Helper()
	check(w.t, w.raw.QueryRow(w.t.Context(), `
		SELECT (SELECT txid FROM sr.progress WHERE partition = 0), coalesce((SELECT count FROM word_counts), 0),
			(SELECT committed_seq FROM sr.writer WHERE writer = $1)`, uuidArg(w.writer)).Scan(&txid, &count, &seq))
	return txid, count, seq
}

func (w *world) expectCommitted(want int64) {
	w.t.Helper()
	if txid, count, seq := w.committed(); txid != want || count != want || seq != want {
		w.t.Errorf("the rows say txid %d, count %d, seq %d, want %d of each", txid, count, seq, want)
	}
}

func (w *world) row(n int32) protocol.Progress {
	w.t.Helper()
	rows, err := w.Load(w.t.Context(), "counts")
	check(w.t, err)
	return rows[n]
}

// grantee makes a role that may look into the schemas; it goes with the test.
func (w *world) grantee() (role string) {
	w.t.Helper()
	role = "sr_test_" + strings.ToLower(rand.Text())
	w.exec(w.raw, "CREATE ROLE "+role+" LOGIN PASSWORD 'x'")
	w.exec(w.raw, "GRANT USAGE ON SCHEMA sr, sr_state TO "+role)
	w.t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), w.url)
		check(w.t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		check(w.t, err)
	})
	return role
}

// as is a URL with another user.
func as(t *testing.T, direct, user, password string) string {
	t.Helper()
	parsed, err := url.Parse(direct)
	check(t, err)
	parsed.User = url.UserPassword(user, password)
	return parsed.String()
}

// exec runs a statement on a connection of the test.
func (w *world) exec(conn *pgx.Conn, sql string, args ...any) {
	w.t.Helper()
	if _, err := conn.Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// lock takes the row of a bucket in a transaction of the raw connection.
func (w *world) lock(n int32) {
	w.t.Helper()
	w.exec(w.raw, "BEGIN")
	w.exec(w.raw, "SELECT FROM sr.progress WHERE partition = $1 FOR UPDATE", n)
}

// untilBlocked waits until some session waits for the one with pid, and returns its pid.
func (w *world) untilBlocked(by uint32) (pid uint32) {
	w.t.Helper()
	look := w.connect()
	w.until(func() bool {
		err := look.QueryRow(w.t.Context(), `SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))`, int32(by)).Scan(&pid)
		check(w.t, err)
		return pid != 0
	})
	return pid
}

// until polls for at most a minute.
func (w *world) until(done func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("it did not happen within a minute")
		}
	}
}

// later runs f on the side; the answer comes through the channel.
func later(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}
