package protocol

import (
	"fmt"

	"github.com/selfregulating/sr/runtime"
)

// setup says what an exploration may do.
type setup struct {
	name    string
	records int  // per source partition
	depth   int  // batches in flight per instance
	lone    bool // the second source partition is empty
	pure    bool // routing is a function of the record; otherwise each attempt routes as it likes
	busy    bool // an input may be given away under a batch that holds it
	deletes bool // close offsets are listed, writer rows deleted
	two     bool // a keyed stage feeds a second exchange
	direct  bool // the source stage has no exchange behind it
	overlap bool // a commit of a bucket takes time, blocks arrive and polls are under way meanwhile
	multi   bool // one commit may move both buckets of a stage
	goesOn  bool // processes live on when Postgres is restored
	warm    bool // at the start every container has taken what it owns
	faults  budget
}

// explorer drives the real Emitter, Production, Receiver and Rows through every step that may come
// next. It is the worker, the controller, Kafka and fate in one.
type explorer struct {
	setup
	emit      func(n *world, adverse bool, violation string)
	say       func(format string, a ...any) // nil unless a trace is being written
	gone      bool                          // the process that steps is fenced: progress may not rely on it
	cut       bool                          // a bound of the explorer hid a step
	violation string
}

func (x *explorer) buckets() int {
	if x.two {
		return buckets
	}
	return 2
}

// emits tells whether keyed stage s has an exchange behind it.
func (x *explorer) emits(s int) bool { return x.two && s == 0 }

func (x *explorer) initial() *world {
	pg := &store{}
	w := &world{pg: pg, air: &air{}, left: x.faults}
	for i := range 2 {
		pg.rows.Register(life(i))
		w.proc[i] = x.start(i)
	}
	for k := range 2 { // A owns the even inputs, B the odd ones
		pg.rows.AddInput(Progress{Input: sourceInput(k), Owner: life(k), Epoch: 1})
	}
	for b := range buckets {
		w.logs[b] = &partition{}
		if b < x.buckets() {
			pg.rows.AddInput(Progress{Input: bucketInput(b), Owner: life(b % 2), Epoch: 1})
		}
	}
	for i := 0; x.warm && i < 2; i++ {
		w.proc[i].src.Take(*pg.rows.Row(sourceInput(i)))
		for b := i; b < x.buckets(); b += 2 {
			w.proc[i].held[b] = &bucket{Receiver: NewReceiver(*w.row(b))}
		}
	}
	w.dirty = 1<<16 - 1
	for i := lives - 1; w.proc[i] == nil; i-- {
		w.dirty &^= dirtyProc << i
	}
	w.seal()
	return w
}

func (x *explorer) start(i int) *process {
	p := &process{src: NewEmitter(life(i), !x.direct)}
	for s := range p.stage {
		p.stage[s] = Production{Container: life(i), Emits: x.emits(s)}
	}
	return p
}

// out hands a step on.
func (x *explorer) out(n *world, adverse bool, format string, a ...any) {
	changed := n.dirty
	n.seal()
	if x.say != nil {
		x.say(format, a...)
	}
	v := x.violation
	x.violation = ""
	if v == "" {
		v = x.check(n, changed)
	}
	x.emit(n, adverse || x.gone, v)
}

// blame remembers the first violation of the step under way.
func (x *explorer) blame(format string, a ...any) {
	if x.violation == "" {
		x.violation = fmt.Sprintf(format, a...)
	}
}

// successors emits every step from w. A panic in the real code is a violation.
func (x *explorer) successors(w *world) {
	defer func() {
		if r := recover(); r != nil {
			if x.say != nil {
				x.say("a step from here panics")
			}
			x.emit(w, true, fmt.Sprintf("panic: %v", r))
		}
	}()
	x.cut, x.violation = false, ""
	for i, p := range w.proc {
		if p != nil && !p.dead {
			x.gone = !w.pg.rows.alive(life(i))
			x.source(w, i)
			x.keyed(w, i)
			x.heartbeat(w, i)
		}
	}
	x.gone = false
	x.control(w)
	x.fate(w)
}

func (x *explorer) living(w *world, i int) bool {
	return w.proc[i] != nil && !w.proc[i].dead && w.pg.rows.alive(life(i))
}

// open opens a writer for p if it has none, and tells whether there is one now.
func (x *explorer) open(n *world, i int, p *Production, stage string) bool {
	if !p.Emits || !p.Writer().IsZero() {
		return true
	}
	id := writerID(n.opened + 1)
	pg := n.ownStore()
	if pg.rows.OpenWriter(life(i), stage, id) != nil {
		return false
	}
	n.opened++
	pg.decided = append(pg.decided, 0)
	p.Opened(id, 2)
	return true
}

// produce emits, for each block that may be appended next, the step that appends it.
func (x *explorer) produce(w *world, i int, pick func(*process) *Production, records func(p *process, flight, out int) uint8, first int) {
	flights := pick(w.proc[i]).flights
	var busy [2]bool // an earlier batch has a block under way: the producer keeps their order
	for k, f := range flights {
		for _, out := range f.unsent {
			if busy[out] {
				continue
			}
			busy[out] = true
			n := w.fork()
			me := n.own(i)
			b := blockOf(f, out, records(me, k, out))
			n.append(first+out, b)
			p := pick(me)
			p.Acked(p.flights[k], out)
			x.out(n, false, "%s appends block (%s,%d) prev %d, records %04b, to bucket %d at offset %d",
				lifeNames[i], nameOf(b.Writer), b.Seq, b.Prev, b.Body[0], first+out, len(w.logs[first+out].blocks))
		}
	}
}

func blockOf(f *Flight, out int, records uint8) Block {
	for _, s := range f.Stamps {
		if s.Out == out {
			return Block{Writer: s.Writer, Seq: s.Seq, Prev: s.Prev, Body: []byte{records}}
		}
	}
	panic("no stamp for this out-bucket")
}

// transact is the one transaction of a batch: the protocol's part and the state.
func (x *explorer) transact(n *world, c Commit, l load) (Result, error) {
	pg := n.ownStore()
	believed := rowsAsBelieved(&pg.rows, &c)
	res, err := pg.rows.Commit(c)
	if err != nil {
		if believed && x.faults.restore == 0 {
			x.blame("decision assert: the rows are as believed and nothing was restored, but %v", err)
		}
		return res, err
	}
	if w := writerOf(c.Writer.Writer); w > 0 {
		pg.decided[w-1] = uint8(c.Writer.Seq)
	}
	for i := range c.Moves {
		in := c.Moves[i].Input
		if in.Operator == "0" {
			if x.direct {
				x.count(pg, int(in.Partition), x.record(in, c.Moves[i].Position-1), 0)
			}
			continue
		}
		k := int(in.Partition) % 2
		x.count(pg, int(in.Partition), l.add[k], l.bad[k])
	}
	return res, nil
}

// rowsAsBelieved tells whether a commit meets the owners, epochs, txids and writer that it expects.
func rowsAsBelieved(t *Rows, c *Commit) bool {
	for i := range c.Moves {
		m := &c.Moves[i]
		row := t.Row(m.Input)
		if row.Owner != c.Container || row.Epoch != m.Epoch || row.TxID != m.TxID-1 || !m.GiveTo.IsZero() && row.NextOwner != m.GiveTo {
			return false
		}
	}
	if c.Writer.Writer.IsZero() {
		return true
	}
	w := t.writer(c.Writer.Writer)
	return w != nil && !w.Closed && w.Committed == c.Writer.Seq-1
}

const (
	twice      = 1
	outOfOrder = 2
)

func (x *explorer) count(pg *store, b int, add, bad uint8) {
	for o := b &^ 1; o < b&^1+2; o++ {
		if pg.counted[o]&add != 0 {
			x.blame("twice: records %04b are already counted in bucket %d", pg.counted[o]&add, o)
		}
	}
	if bad&outOfOrder != 0 {
		x.blame("order: records of one source partition reach bucket %d out of order", b)
	} else if bad != 0 {
		x.blame("twice: bucket %d counts a record twice in one batch", b)
	}
	pg.counted[b] |= add
}

// record is the bit of one source record.
func (x *explorer) record(in runtime.Input, o runtime.Offset) uint8 {
	return 1 << (int(in.Partition)*x.records + int(o))
}

// end is the number of records in a source partition.
func (x *explorer) end(in runtime.Input) runtime.Offset {
	if x.lone && in.Partition == 1 {
		return 0
	}
	return int64(x.records)
}

// all is the bits of every source record.
func (x *explorer) all() uint8 {
	if x.lone {
		return 1<<x.records - 1
	}
	return 1<<(partitions*x.records) - 1
}

// ofPartition cuts the bits of one source partition out of a set.
func (x *explorer) ofPartition(set uint8, p int) uint8 {
	return set >> (p * x.records) & (1<<x.records - 1)
}
