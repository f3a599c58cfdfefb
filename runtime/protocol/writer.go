package protocol

import "github.com/selfregulating/sr/runtime"

// Writer stamps the blocks of one writer. A (writer, seq) is never produced with other content
// (Writing 4), so a Writer that lost a batch is thrown away, never rewound.
type Writer struct {
	ID  runtime.WriterID
	seq runtime.Seq
	// last is, by out-bucket, the seq of the last block stamped for it.
	last []runtime.Seq
}

// NewWriter returns the memory of a writer whose row was just inserted. outs is the number of
// buckets of all exchanges behind the stage, counted through.
func NewWriter(id runtime.WriterID, outs int) Writer {
	return Writer{ID: id, last: make([]runtime.Seq, outs)}
}

// Stamp is the protocol's part of a block header.
type Stamp struct {
	Out    int
	Writer runtime.WriterID
	Seq    runtime.Seq
	// Prev is the seq of this writer's previous block in the same bucket, 0 if none.
	Prev runtime.Seq
}

// Begin starts the next batch and stamps one block for each out-bucket in outs (Writing 2).
// An empty batch is a batch too: it has a seq and no block.
func (w *Writer) Begin(outs []int) (runtime.Seq, []Stamp) {
	w.seq++
	stamps := make([]Stamp, len(outs))
	for i, out := range outs {
		stamps[i] = Stamp{Out: out, Writer: w.ID, Seq: w.seq, Prev: w.last[out]}
		w.last[out] = w.seq
	}
	return w.seq, stamps
}

func (w *Writer) clone() Writer {
	c := *w
	c.last = append([]runtime.Seq(nil), w.last...)
	return c
}
