package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
)

// gather is a source batch in the making: how far it goes in each partition, and what it has for
// each edge. An instance has two and swaps them, so that one fills while the other commits.
type gather struct {
	stage  *topology.Stage
	tables []*exchange.Table // one per edge; those of exchanges are the outbox's
	out    *outbox
	handle func(partition int32, r *broker.Record) error
	spans  map[int32]*span
	dead   []store.DeadLetter
	// records gathered; oldest is when the first of them was read, ingest its timestamp (ms).
	records int64
	oldest  time.Time
	ingest  int64
	moved   bool
}

// span is what a batch holds of one partition.
type span struct {
	from, to    runtime.Offset
	records     int64
	leaderEpoch int32
	// jumped: an out-of-range policy moved it, perhaps back.
	jumped bool
}

func newGather(s *topology.Stage, topicPartitions int) (*gather, error) {
	g := &gather{stage: s, spans: map[int32]*span{}}
	var err error
	if g.out, err = newOutbox(s); err != nil {
		return nil, err
	}
	exchanges := g.out.tables
	for _, e := range s.Outs {
		if !e.Direct {
			g.tables, exchanges = append(g.tables, exchanges[0]), exchanges[1:]
			continue
		}
		shape, err := exchange.NewShape(e.To.Layout, e.To.Reduce == nil)
		if err != nil {
			return nil, fmt.Errorf("laying out the entries of %s: %w", e.To.Operator, err)
		}
		g.tables = append(g.tables, exchange.NewTable(shape, topicPartitions))
	}
	g.handle = s.Source(g.tables)
	return g, nil
}

// begin opens the span of a partition; the batch holds nothing of it yet.
func (g *gather) begin(p int32, at runtime.Offset) { g.spans[p] = &span{from: at, to: at} }

// route makes tuples of direct edges go to the bucket of their source partition.
func (g *gather) route(p int32) {
	for i, e := range g.stage.Outs {
		if e.Direct {
			g.tables[i].Route(p)
		}
	}
}

// errPartial: a record entered some tables and was refused by a later one, so the batch has to be
// gathered again without it.
var errPartial = errors.New("a record was taken in part")

// add puts one record into the batch, whole or not at all.
func (g *gather) add(p int32, r *broker.Record) error {
	if err := g.handle(p, r); err != nil {
		g.abort()
		return err
	}
	if len(g.tables) > 1 {
		for _, t := range g.tables {
			if err := t.Check(); err != nil {
				g.abort()
				return err
			}
		}
	}
	for i, t := range g.tables {
		err := t.CommitRecord()
		if err == nil {
			continue
		}
		g.abort()
		if i > 0 {
			return fmt.Errorf("%w: %w", errPartial, err)
		}
		return err
	}
	return nil
}

func (g *gather) abort() {
	for _, t := range g.tables {
		t.AbortRecord()
	}
}

// advance moves the span of a partition.
func (g *gather) advance(p int32, to runtime.Offset, records int64, now time.Time) {
	s := g.spans[p]
	if to <= s.to {
		return
	}
	s.to = to
	s.records += records
	g.records += records
	if !g.moved {
		g.moved, g.oldest = true, now
	}
}

// bytes is the encoded size of all entries, about.
func (g *gather) bytes() int {
	n := 0
	for _, t := range g.tables {
		n += t.Bytes()
	}
	return n
}

// tuples is how many tuples the batch holds, over all edges.
func (g *gather) tuples() int64 {
	var n int64
	for _, t := range g.tables {
		for b := range t.Buckets() {
			n += t.Bucket(runtime.Bucket(b)).Tuples()
		}
	}
	return n
}

// full tells whether the batch must be cut before more is added: a block has reached its target, the
// batch its bound, or a direct edge as many rows as a transaction should write.
func (g *gather) full(maxBytes, maxRows int) bool {
	for i, t := range g.tables {
		if t.Largest() >= exchange.BlockTarget && !g.stage.Outs[i].Direct {
			return true
		}
		if g.stage.Outs[i].Direct && t.Bytes() > maxRows*rowBytes && t.Len() >= maxRows {
			return true
		}
	}
	return g.bytes() >= maxBytes
}

// rowBytes is less than any entry takes; it saves counting rows most of the time.
const rowBytes = 4

// reset empties the batch and opens it again where it ended.
func (g *gather) reset() {
	for _, t := range g.tables {
		t.Reset()
	}
	clear(g.spans)
	g.dead = nil
	g.records, g.moved, g.oldest, g.ingest = 0, false, time.Time{}, 0
}
