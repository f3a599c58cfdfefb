package protocol

import (
	"errors"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/mutant"
)

func sourceOf(p *process) *Production { return &p.src.Production }

// source emits the steps of an instance that reads source partitions.
func (x *explorer) source(w *world, i int) {
	me := w.proc[i]
	for p := range partitions {
		x.takeSource(w, i, p)
		x.giveSource(w, i, p)
	}
	if me.src.Unknown() {
		n := w.fork()
		x.voidSource(n, i)
		x.out(n, false, "%s resolves the unknown commit of its sources and reloads", lifeNames[i])
		return
	}
	if me.src.Flights() < x.depth {
		x.gather(w, i)
	}
	x.produce(w, i, sourceOf, x.routed, 0)
	x.commitSource(w, i)
	if w.left.produce > 0 && me.src.Flights() > 0 {
		x.failProduce(w, i, sourceOf, x.routed, 0, func(n *world) { x.voidSource(n, i) })
	}
}

func (x *explorer) takeSource(w *world, i, p int) {
	row := w.pg.rows.Row(sourceInput(p))
	src := &w.proc[i].src
	if k, owned := src.find(row.Input); row.Owner != life(i) || owned && src.owned[k].Epoch == row.Epoch {
		return
	}
	n := w.fork()
	me := n.own(i)
	if me.src.Take(*row) {
		me.told[p] = 0
		x.out(n, false, "%s takes source %d at offset %d, epoch %d", lifeNames[i], p, row.Position, row.Epoch)
	}
}

// giveSource: the owner sees a planned move, and later gives the partition away.
func (x *explorer) giveSource(w *world, i, p int) {
	me := w.proc[i]
	k, owned := me.src.find(sourceInput(p))
	if !owned || me.src.Unknown() {
		return
	}
	row := w.pg.rows.Row(sourceInput(p))
	o := me.src.owned[k]
	if !row.NextOwner.IsZero() && row.Owner == life(i) && row.Epoch == o.Epoch && me.told[p] == 0 {
		n := w.fork()
		n.own(i).told[p] = lifeOf(row.NextOwner) + 1
		x.out(n, false, "%s sees that source %d shall go to %s", lifeNames[i], p, lifeNames[lifeOf(row.NextOwner)])
	}
	held := me.src.Holds(o.Input)
	if me.told[p] == 0 || held && !x.busy {
		return
	}
	n := w.fork()
	q := n.own(i)
	to := me.told[p] - 1
	err := n.ownStore().rows.Give(o.Input, life(i), o.Epoch, life(to))
	q.told[p] = 0
	if err == nil {
		q.src.Drop(o.Input)
	}
	x.out(n, held, "%s gives source %d to %s: %s", lifeNames[i], p, lifeNames[to], outcome(err))
}

func outcome(err error) string {
	if err == nil {
		return "done"
	}
	return err.Error()
}

// gather cuts every batch that may come next: one record of each partition of some set, routed in
// every way. Opening the writer is part of it.
func (x *explorer) gather(w *world, i int) {
	var can []Cut
	for _, o := range w.proc[i].src.owned {
		if o.Position < x.end(o.Input) {
			can = append(can, Cut{Input: o.Input, Position: o.Position + 1})
		}
	}
	for set := 1; set < 1<<len(can); set++ {
		var cuts []Cut
		var records, pure uint8
		for k, c := range can {
			if set>>k&1 == 1 {
				cuts = append(cuts, c)
				bit := x.record(c.Input, c.Position-1)
				records |= bit
				if (int(c.Input.Partition)+int(c.Position-1))%2 == 1 {
					pure |= bit
				}
			}
		}
		for right := uint8(0); ; right = (right - records) & records { // every subset
			if !x.pure && !x.direct || right == pure {
				x.begin(w, i, cuts, records, right)
			}
			if right == records {
				break
			}
		}
	}
}

func (x *explorer) begin(w *world, i int, cuts []Cut, records, right uint8) {
	n := w.fork()
	me := n.own(i)
	if !x.open(n, i, &me.src.Production, "source") {
		return
	}
	f := me.src.Begin(cuts, outs(records&^right, right))
	me.right = append(me.right, right)
	x.out(n, false, "%s gathers batch (%s,%d): records %04b, of them %04b to bucket 1",
		lifeNames[i], nameOf(f.Commit.Writer.Writer), f.Commit.Writer.Seq, records, right)
}

func outs(left, right uint8) (o []int) {
	if left != 0 {
		o = append(o, 0)
	}
	if right != 0 {
		o = append(o, 1)
	}
	return o
}

// routed returns the records of a batch that go to an out-bucket.
func (x *explorer) routed(p *process, flight, out int) uint8 {
	var records uint8
	for _, m := range p.src.flights[flight].Commit.Moves {
		records |= x.record(m.Input, m.Position-1)
	}
	if out == 1 {
		return records & p.right[flight]
	}
	return records &^ p.right[flight]
}

func (x *explorer) commitSource(w *world, i int) {
	f := w.proc[i].src.Oldest()
	if f == nil {
		return
	}
	n := w.fork()
	me := n.own(i)
	if _, err := x.transact(n, f.Commit, load{}); err == nil {
		me.src.Committed()
		me.right = me.right[1:]
		x.out(n, false, "%s commits (%s,%d)", lifeNames[i], nameOf(f.Commit.Writer.Writer), f.Commit.Writer.Seq)
	} else {
		x.voidSource(n, i)
		x.out(n, false, "%s: commit of (%s,%d) is lost (%v); it reloads", lifeNames[i], nameOf(f.Commit.Writer.Writer), f.Commit.Writer.Seq, err)
	}
	if w.left.unknown > 0 {
		n := w.fork()
		n.left.unknown--
		a := n.ownAir()
		a.commits = append(a.commits, lateCommit{life: i, stage: -1, commit: f.Commit})
		n.own(i).src.Lost()
		x.out(n, true, "%s sends the commit of (%s,%d), connection lost, outcome unknown", lifeNames[i], nameOf(f.Commit.Writer.Writer), f.Commit.Writer.Seq)
	}
}

// voidSource gives up every batch in flight, as Writing 4 and 5 say.
func (x *explorer) voidSource(n *world, i int) {
	me := n.own(i)
	old := me.src.Production.Clone()
	writer, raise := me.src.Void()
	me.right, me.told = nil, [partitions]int{}
	x.settleVoid(n, i, &me.src.Production, &old, writer, raise)
}

// settleVoid does with the rows what Void asks for.
func (x *explorer) settleVoid(n *world, i int, p, old *Production, writer runtime.WriterID, raise []runtime.Input) {
	if mutant.On("reuseSeq") && len(old.flights) > 0 { // the batch is built anew under the seq that it had
		p.writer = rewound(old)
		return
	}
	pg := n.ownStore()
	if !writer.IsZero() {
		pg.rows.CloseWriter(writer)
	}
	if !mutant.On("doneByTxID") {
		pg.rows.RaiseEpochs(life(i), raise)
	}
}

func rewound(old *Production) Writer {
	w := old.writer
	for k := len(old.flights) - 1; k >= 0; k-- {
		for _, s := range old.flights[k].Stamps {
			w.last[s.Out] = s.Prev
		}
		w.seq = old.flights[k].Commit.Writer.Seq - 1
	}
	return w
}

// failProduce: a produce fails for good. Its block may still reach the log one day.
func (x *explorer) failProduce(w *world, i int, pick func(*process) *Production, records func(p *process, flight, out int) uint8, first int, void func(n *world)) {
	n := w.fork()
	n.left.produce--
	void(n)
	x.out(n, true, "%s: a produce fails; it gives its batches up", lifeNames[i])
	for k, f := range pick(w.proc[i]).flights {
		for _, out := range f.unsent {
			n := w.fork()
			n.left.produce--
			b := blockOf(f, out, records(w.proc[i], k, out))
			a := n.ownAir()
			a.strays = append(a.strays, strayBlock{first + out, b})
			void(n)
			x.out(n, true, "%s: the produce of (%s,%d) to bucket %d times out; it gives its batches up", lifeNames[i], nameOf(b.Writer), b.Seq, first+out)
		}
	}
}

// heartbeat: what a container does now and then. It matters only after a restore.
func (x *explorer) heartbeat(w *world, i int) {
	if x.faults.restore == 0 {
		return
	}
	if !mutant.On("strayWriters") {
		x.closeStray(w, i)
	}
	if mutant.On("idleSilent") {
		return
	}
	for _, o := range w.proc[i].src.owned {
		x.idleSource(w, i, o)
	}
	for b, h := range w.proc[i].held {
		if h != nil {
			x.idleBucket(w, i, b)
		}
	}
}

func (x *explorer) closeStray(w *world, i int) {
	me := w.proc[i]
	inUse := []runtime.WriterID{me.src.Writer(), me.stage[0].Writer(), me.stage[1].Writer()}
	n := w.fork()
	rows := &n.ownStore().rows
	rows.CloseStray(life(i), inUse)
	for k := range rows.Writers {
		if rows.Writers[k].Closed != w.pg.rows.Writers[k].Closed {
			x.out(n, false, "%s closes the writers that it does not use", lifeNames[i])
			return
		}
	}
}

// idleSource commits an empty batch. Only one that fails is a step: the others change nothing that
// matters.
func (x *explorer) idleSource(w *world, i int, o Owned) {
	me := w.proc[i]
	if me.src.Unknown() || me.src.Holds(o.Input) || me.src.Flights() > 0 {
		return
	}
	n := w.fork()
	c := Commit{Container: life(i), Moves: []Move{{Input: o.Input, Epoch: o.Epoch, TxID: o.TxID + 1, Position: o.Position}}}
	if _, err := n.ownStore().rows.Commit(c); errors.Is(err, ErrLost) {
		x.voidSource(n, i)
		x.out(n, false, "%s: empty commit of source %d is lost; it reloads", lifeNames[i], number(o.Input)&1)
	}
}
