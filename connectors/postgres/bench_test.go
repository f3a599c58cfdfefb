package postgres

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/selfregulating/sr/connectors/postgres/pgtest"
	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// The benchmarks commit a round of 64 buckets: whole flushes of 450,000 words (dense) and a few words
// each (sparse). Bare is the same upsert from the same arrays with no protocol around it.

func BenchmarkCommitDense(b *testing.B)  { benchCommit(b, 7000, 1) }
func BenchmarkCommitSparse(b *testing.B) { benchCommit(b, 20, 64) }
func BenchmarkBareDense(b *testing.B)    { benchBare(b, 7000, 1) }
func BenchmarkBareSparse(b *testing.B)   { benchBare(b, 20, 64) }

const benchBuckets = 64

type bench struct {
	s         *Store
	container runtime.Incarnation
	table     *state.Table
	partials  []*exchange.BucketTable
	txid      runtime.TxID
}

func newBench(b *testing.B, perBucket int) *bench {
	table := &state.Table{
		Operator: "counts", View: "words", Keys: []state.Column{{Name: "word", Type: state.Text}},
		Values: []state.Aggregate{{Name: "count", Fold: state.FoldCount, Type: state.Bigint}}, Kind: state.Transactional, Buckets: benchBuckets,
	}
	s, err := Open(b.Context(), Config{URL: pgtest.URL(b), Topology: "bench", Operators: []Operator{{ID: "counts", Buckets: benchBuckets, Table: table}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	c := &bench{s: s, container: runtime.NewIncarnation(), table: table}
	check(b, s.Register(b.Context(), store.Container{Name: "bench", Incarnation: c.container}, time.Minute))
	var rows []protocol.Progress
	for p := range benchBuckets {
		rows = append(rows, protocol.Progress{Input: runtime.Input{Operator: "counts", Partition: int32(p)}})
	}
	check(b, s.AddInputs(b.Context(), rows))
	check(b, s.Assign(b.Context(), c.container, "counts"))
	shape, err := exchange.NewShape(exchange.Layout{exchange.AddInt}, true)
	check(b, err)
	words := exchange.NewTable(shape, benchBuckets)
	for i := range perBucket * benchBuckets {
		words.AddText(fmt.Sprintf("w%08x", uint32(i)*2654435761), 1)
		check(b, words.CommitRecord())
	}
	for p := range benchBuckets {
		c.partials = append(c.partials, words.Bucket(int32(p)))
	}
	return c
}

// round commits every bucket once, group of them in a transaction.
func (c *bench) round(b *testing.B, group int) (rows int) {
	c.txid++
	for p := 0; p < benchBuckets; p += group {
		commit := protocol.Commit{Container: c.container}
		var w store.Writes
		for q := p; q < p+group; q++ {
			commit.Moves = append(commit.Moves, protocol.Move{
				Input: runtime.Input{Operator: "counts", Partition: int32(q)}, Epoch: 1, TxID: c.txid, Position: int64(c.txid), Applied: protocol.Applied{},
			})
			w.Folds = append(w.Folds, store.Fold{Table: c.table, Bucket: int32(q), TxID: c.txid, Partials: c.partials[q]})
			rows += c.partials[q].Len()
		}
		_, err := c.s.Commit(b.Context(), commit, w)
		check(b, err)
	}
	return rows
}

func benchCommit(b *testing.B, perBucket, group int) {
	c := newBench(b, perBucket)
	c.round(b, group)
	measure(b, func() int { return c.round(b, group) })
}

func benchBare(b *testing.B, perBucket, group int) {
	c := newBench(b, perBucket)
	c.round(b, group)
	conn, err := c.s.pool.Acquire(b.Context())
	check(b, err)
	defer conn.Release()
	t, err := c.s.table(c.table)
	check(b, err)
	prepared, err := conn.Conn().Prepare(b.Context(), t.fold, t.fold)
	check(b, err)
	var scratch commitScratch
	measure(b, func() int {
		rows := 0
		c.txid++
		for p := 0; p < benchBuckets; p += group {
			scratch.used = 0
			a := scratch.next(&t.layout)
			for q := p; q < p+group; q++ {
				check(b, a.addFold(&t.layout, &store.Fold{Table: c.table, Bucket: int32(q), TxID: c.txid, Partials: c.partials[q]}))
				rows += c.partials[q].Len()
			}
			batch := &pgconn.Batch{}
			batch.ExecPrepared(prepared.Name, a.params(&t.layout, false), binaryFormat, binaryFormat)
			check(b, conn.Conn().PgConn().ExecBatch(b.Context(), batch).Close())
		}
		return rows
	})
}

func measure(b *testing.B, round func() int) {
	rows := 0
	start, cpu := time.Now(), cpuTime()
	for b.Loop() {
		rows += round()
	}
	b.ReportMetric(float64(time.Since(start).Microseconds())/float64(rows), "us/row")
	b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(rows), "client-ns/row")
	b.ReportMetric(0, "ns/op")
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
