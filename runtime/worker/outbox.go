package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/vitals"
)

// outbox is what a batch has for the exchanges behind a stage: one table per edge, whose buckets are
// counted through over all of them.
type outbox struct {
	edges  []*topology.Edge // exchanges only
	tables []*exchange.Table
	size   int
}

// newOutbox makes the outbox of a stage: a table for each edge that is an exchange.
func newOutbox(s *topology.Stage) (*outbox, error) {
	o := new(outbox)
	for _, e := range s.Outs {
		if e.Direct {
			continue
		}
		shape, err := exchange.NewShape(e.To.Layout, e.To.Combine)
		if err != nil {
			return nil, fmt.Errorf("laying out the entries of %s: %w", e.To.Operator, err)
		}
		o.edges = append(o.edges, e)
		o.tables = append(o.tables, exchange.NewTable(shape, e.To.Buckets))
		o.size += e.To.Buckets
	}
	return o, nil
}

// fill makes the function that hands the rows written by a keyed stage on to the tables.
func (o *outbox) fill(k *topology.Keyed) emit {
	handle := k.Emit(o.tables)
	return func(key []byte, row []any) error {
		err := handle(key, row)
		for _, t := range o.tables {
			if err == nil {
				err = t.Check()
			}
		}
		for i, t := range o.tables {
			if err == nil {
				if err = t.CommitRecord(); err != nil && i > 0 {
					err = fmt.Errorf("%w: %w", errPartial, err)
				}
			}
			if err != nil {
				t.AbortRecord()
			}
		}
		return err
	}
}

func (o *outbox) reset() {
	for _, t := range o.tables {
		t.Reset()
	}
}

// find splits an out-bucket into edge and bucket.
func (o *outbox) find(out int) (int, runtime.Bucket) {
	for i, e := range o.edges {
		if out < e.To.Buckets {
			return i, runtime.Bucket(out)
		}
		out -= e.To.Buckets
	}
	panic("worker: an out-bucket beyond the last exchange")
}

func (o *outbox) nonEmpty() []int {
	var outs []int
	base := 0
	for i, e := range o.edges {
		for b := range e.To.Buckets {
			if o.tables[i].Bucket(runtime.Bucket(b)).Len() > 0 {
				outs = append(outs, base+b)
			}
		}
		base += e.To.Buckets
	}
	return outs
}

func (o *outbox) operators() []runtime.OperatorID {
	var ops []runtime.OperatorID
	for _, e := range o.edges {
		ops = append(ops, e.To.Operator)
	}
	return ops
}

// produce sends one block per stamp and waits for every acknowledgement (Writing 2).
func (o *outbox) produce(ctx context.Context, w *worker, a broker.Appender, stamps []protocol.Stamp, ingest int64, vit *vitals.Instance) error {
	start := time.Now()
	acks := make(chan error, len(stamps))
	for _, st := range stamps {
		i, bucket := o.find(st.Out)
		to, t := o.edges[i].To, o.tables[i].Bucket(bucket)
		h := exchange.Header{Signature: to.Signature, Writer: st.Writer, Seq: st.Seq, Prev: st.Prev, Ingest: ingest}
		block := exchange.AppendBlock(make([]byte, 0, exchange.HeaderSize+t.Bytes()), h, t)
		vit.Blocks.Add(1)
		vit.Entries.Add(int64(t.Len()))
		a.Append(ctx, ExchangeTopic(w.Topology, to.Operator), bucket, block, func(err error) {
			if err == nil {
				crash.Point("block-acked")
			}
			acks <- err
		})
	}
	crash.Point("blocks-sent")
	var first error
	for range stamps {
		if err := <-acks; err != nil && first == nil {
			first = fmt.Errorf("producing a block: %w", err)
		}
	}
	vit.ProduceNanos.Add(int64(time.Since(start)))
	crash.Point("blocks-acked")
	return first
}
