package protocol

import (
	"errors"
	"slices"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/mutant"
)

func firstStage(p *process) *Production { return &p.stage[0] }

// keyed emits the steps of an instance that owns buckets.
func (x *explorer) keyed(w *world, i int) {
	if x.direct {
		return
	}
	for b := range x.buckets() {
		x.takeBucket(w, i, b)
		if w.proc[i].held[b] != nil {
			x.giveBucket(w, i, b)
			x.read(w, i, b)
		}
	}
	for s := range x.buckets() / 2 {
		x.stageSteps(w, i, s)
	}
	x.poll(w, i)
}

func (x *explorer) stageSteps(w *world, i, s int) {
	p := &w.proc[i].stage[s]
	if p.Unknown() {
		n := w.fork()
		if f := p.flights[0]; mutant.On("doneByTxID") && doneByTxID(&w.pg.rows, f) {
			n.own(i).stage[s].unknown = false
			x.committed(n, i, s, f, Result{})
			x.out(n, false, "%s reads its txid in the rows of stage %s, so its unknown commit is done", lifeNames[i], stages[s])
			return
		}
		x.voidStage(n, i, s)
		x.out(n, false, "%s resolves the unknown commit of stage %s and reloads", lifeNames[i], stages[s])
		return
	}
	if p.Emits {
		x.produce(w, i, firstStage, x.rerouted, 2)
		if w.left.produce > 0 && p.Flights() > 0 {
			x.failProduce(w, i, firstStage, x.rerouted, 2, func(n *world) { x.voidStage(n, i, s) })
		}
	}
	x.commitStage(w, i, s)
	var ready []int
	for b := 2 * s; b < 2*s+2; b++ {
		if h := w.proc[i].held[b]; h != nil && !h.Flying() && !p.Holds(h.Input) && (h.Moved() || prunable(&w.pg.rows, h.applied)) {
			ready = append(ready, b)
			x.freeze(w, i, s, []int{b})
		}
	}
	if x.multi && len(ready) == 2 {
		x.freeze(w, i, s, ready)
	}
}

// doneByTxID is the mutant that takes its txid in the row for a proof. It may be of a batch that an
// earlier commit of the same row left, built anew.
func doneByTxID(t *Rows, f *Flight) bool {
	m := f.Commit.Moves[0]
	row := t.Row(m.Input)
	return row.Owner == f.Commit.Container && row.Epoch == m.Epoch && row.TxID == m.TxID
}

// prunable tells whether a commit would prune applied: that is what idle commits are for.
func prunable(t *Rows, a Applied) bool {
	return slices.ContainsFunc(a, func(s WriterSeq) bool { return t.writer(s.Writer) == nil })
}

func (x *explorer) current(w *world, i, b int) bool {
	row := w.row(b)
	return row.Owner == life(i) && row.Epoch == w.proc[i].held[b].Epoch
}

func (x *explorer) takeBucket(w *world, i, b int) {
	row, h := w.row(b), w.proc[i].held[b]
	p := &w.proc[i].stage[b/2]
	if row.Owner != life(i) || p.Unknown() || p.Holds(row.Input) || h != nil && h.Epoch == row.Epoch {
		return
	}
	n := w.fork()
	me := n.own(i)
	me.held[b] = &bucket{Receiver: NewReceiver(*row)}
	me.cache.Forget()
	me.polls = nil
	x.out(n, false, "%s takes bucket %d at offset %d, epoch %d", lifeNames[i], b, row.Position, row.Epoch)
}

// giveBucket: the owner sees a planned move, and later gives the bucket away.
func (x *explorer) giveBucket(w *world, i, b int) {
	h, row := w.proc[i].held[b], w.row(b)
	if !row.NextOwner.IsZero() && x.current(w, i, b) && h.told == 0 {
		n := w.fork()
		n.own(i).held[b].told = lifeOf(row.NextOwner) + 1
		x.out(n, false, "%s sees that bucket %d shall go to %s", lifeNames[i], b, lifeNames[lifeOf(row.NextOwner)])
	}
	p := &w.proc[i].stage[b/2]
	if h.told == 0 || p.Unknown() || p.Holds(h.Input) && !x.busy {
		return
	}
	n := w.fork()
	me := n.own(i)
	err := n.ownStore().rows.Give(h.Input, life(i), h.Epoch, life(h.told-1))
	me.held[b].told = 0
	if err == nil {
		me.held[b] = nil
	}
	x.out(n, false, "%s gives bucket %d to %s: %s", lifeNames[i], b, lifeNames[h.told-1], outcome(err))
}

func (x *explorer) read(w *world, i, b int) {
	h, row := w.proc[i].held[b], w.row(b)
	if h.Read >= int64(len(w.logs[b].blocks)) || h.Flying() && !x.overlap {
		return
	}
	if x.current(w, i, b) && h.Read < row.Position && x.faults.restore == 0 {
		x.blame("trim: the current owner of bucket %d reads offset %d, below the resume offset %d", b, h.Read, row.Position)
	}
	n := w.fork()
	me := n.own(i)
	me.cache.Arrived(w.logs[b].blocks[h.Read].Writer)
	me.held[b].Arrive(w.logs[b].blocks[h.Read])
	x.settle(n, i, b, 0)
	x.out(n, false, "%s reads bucket %d offset %d", lifeNames[i], b, h.Read)
}

// settle decides held blocks of bucket b and merges what is decided.
func (x *explorer) settle(n *world, i, b int, asked int64) {
	me := n.own(i)
	h := me.held[b]
	blocks, err := h.SettleAsked(me.cache.View(), asked)
	if err != nil {
		if x.current(n, i, b) {
			x.blame("false stop: %v", err)
		}
		me.held[b] = nil // not the owner any more: it reloads
		return
	}
	for _, k := range blocks {
		x.merge(n, i, b, k.Body[0])
	}
}

func (x *explorer) merge(n *world, i, b int, records uint8) {
	me := n.own(i)
	h := me.held[b]
	seen := n.pg.counted[b] | h.add
	for _, l := range me.loads[b/2] {
		seen |= l.add[b%2]
	}
	for p := range partitions {
		if mine := x.ofPartition(records, p); b < 2 && x.current(n, i, b) && mine != 0 && x.ofPartition(seen, p) > mine {
			h.bad |= outOfOrder
		}
	}
	if h.add&records != 0 {
		h.bad |= twice
	}
	h.add |= records
}

// poll reads the decisions, one snapshot for all buckets; with overlap the answer takes its time.
func (x *explorer) poll(w *world, i int) {
	me := w.proc[i]
	if me.polls != nil {
		n := w.fork()
		q := n.own(i)
		q.polls = nil
		x.answer(n, i, me.polls.view, func(b int) int64 { return me.polls.asked[b] })
		x.out(n, false, "the poll of %s is answered", lifeNames[i])
		return
	}
	if !x.curious(w, i) {
		return
	}
	view := x.snapshot(w, i)
	if mutant.On("pollOneWriter") {
		x.pollOne(w, i, view)
		return
	}
	n := w.fork()
	x.answer(n, i, view, func(b int) int64 { return n.proc[i].held[b].Read })
	x.out(n, false, "%s polls decisions", lifeNames[i])
	if x.overlap {
		n := w.fork()
		q := n.own(i)
		q.polls = &poll{view: view}
		for b, h := range q.held {
			if h != nil {
				q.polls.asked[b] = h.Read
			}
		}
		x.out(n, false, "%s sends a poll", lifeNames[i])
	}
}

// snapshot reads the writers that the process has to know of.
func (x *explorer) snapshot(w *world, i int) View {
	me := w.proc[i]
	var held []*Receiver
	for _, h := range me.held {
		if h != nil {
			held = append(held, &h.Receiver)
		}
	}
	ids := me.cache.Wanted(held)
	return slices.DeleteFunc(w.pg.rows.View(), func(s WriterState) bool { return !slices.Contains(ids, s.Writer) })
}

func (x *explorer) answer(n *world, i int, view View, asked func(b int) int64) {
	me := n.own(i)
	me.cache.Adopt(slices.Clone(view))
	for b, h := range me.held {
		if h != nil && (!h.Flying() || x.overlap) {
			x.settle(n, i, b, asked(b))
		}
	}
}

// curious tells whether a poll could decide something.
func (x *explorer) curious(w *world, i int) bool {
	me := w.proc[i]
	var set []runtime.WriterID
	for _, h := range me.held {
		if h != nil && (!h.Flying() || x.overlap) {
			set = h.Writers(set)
		}
	}
	return slices.ContainsFunc(set, func(id runtime.WriterID) bool {
		cached, known := me.cache.View().Find(id)
		row := w.pg.rows.writer(id)
		return !known || row == nil || row.Committed != cached.Committed || row.Closed != cached.Closed
	})
}

// pollOne is the mutant that asks for the writers one by one.
func (x *explorer) pollOne(w *world, i int, view View) {
	for _, s := range view {
		if cached, known := w.proc[i].cache.View().Find(s.Writer); known && cached == s {
			continue
		}
		n := w.fork()
		mixed := append(slices.Clone(w.proc[i].cache.View()).Without(s.Writer), s)
		slices.SortFunc(mixed, func(a, b WriterState) int { return writerOf(a.Writer) - writerOf(b.Writer) })
		x.answer(n, i, mixed, func(int) int64 { return 0 })
		x.out(n, false, "%s polls the decision of %s", lifeNames[i], nameOf(s.Writer))
	}
}

// freeze begins a commit of some buckets. A stage without an exchange behind it and without overlap
// commits in the same step.
func (x *explorer) freeze(w *world, i, s int, bs []int) {
	var add uint8
	for _, b := range bs {
		add |= w.proc[i].held[b].add
	}
	for right := uint8(0); ; right = (right - add) & add {
		if !x.emits(s) || !x.pure || right == add&0b0110 {
			x.freezeRouted(w, i, s, bs, add, right, 0)
			if h := w.proc[i].held[bs[0]]; h.told != 0 && len(bs) == 1 && len(h.pending) == 0 {
				x.freezeRouted(w, i, s, bs, add, right, h.told)
			}
		}
		if right == add || !x.emits(s) {
			return
		}
	}
}

func (x *explorer) freezeRouted(w *world, i, s int, bs []int, add, right uint8, giveTo int) {
	n := w.fork()
	me := n.own(i)
	p := &me.stage[s]
	if !x.open(n, i, p, "keyed") {
		return
	}
	l := load{right: right}
	var moves []Move
	for _, b := range bs {
		h := me.held[b]
		m := h.Freeze()
		if mutant.On("pruneStaleView") {
			m.Applied = slices.DeleteFunc(m.Applied, func(a WriterSeq) bool { _, known := me.cache.View().Find(a.Writer); return !known })
		}
		if giveTo != 0 {
			m.GiveTo = life(giveTo - 1)
		}
		moves = append(moves, m)
		l.add[b%2], l.bad[b%2] = h.add, h.bad
		h.add, h.bad = 0, 0
	}
	var f *Flight
	if x.emits(s) {
		f = p.BeginMoves(moves, outs(add&^right, right))
	} else {
		f = p.BeginMoves(moves, nil)
	}
	me.loads[s] = append(me.loads[s], l)
	if x.emits(s) || x.overlap {
		x.out(n, false, "%s freezes buckets %v: records %04b, of them %04b to the right, gives to %d", lifeNames[i], bs, add, right, giveTo)
		return
	}
	n.seal()
	if p.Oldest() == f {
		x.commitStage(n, i, s)
	}
}

// rerouted returns the records of a frozen batch that go to an out-bucket.
func (x *explorer) rerouted(p *process, flight, out int) uint8 {
	l := &p.loads[0][flight]
	if out == 1 {
		return l.right
	}
	return (l.add[0] | l.add[1]) &^ l.right
}

func (x *explorer) commitStage(w *world, i, s int) {
	f := w.proc[i].stage[s].Oldest()
	if f == nil {
		return
	}
	l := w.proc[i].loads[s][0]
	n := w.fork()
	if res, err := x.transact(n, f.Commit, l); err == nil {
		x.committed(n, i, s, f, res)
		x.out(n, false, "%s commits stage %s: %s", lifeNames[i], stages[s], movesIn(f))
	} else {
		x.voidStage(n, i, s)
		x.out(n, false, "%s: commit of stage %s (%s) is lost (%v); it reloads", lifeNames[i], stages[s], movesIn(f), err)
	}
	if w.left.unknown > 0 {
		n := w.fork()
		n.left.unknown--
		a := n.ownAir()
		a.commits = append(a.commits, lateCommit{i, s, f.Commit, l})
		n.own(i).stage[s].Lost()
		x.out(n, true, "%s sends the commit of stage %s (%s), connection lost, outcome unknown", lifeNames[i], stages[s], movesIn(f))
	}
}

func movesIn(f *Flight) (s string) {
	for _, m := range f.Commit.Moves {
		s += m.Input.String() + " "
	}
	return s[:max(0, len(s)-1)]
}

func (x *explorer) committed(n *world, i, s int, f *Flight, res Result) {
	me := n.own(i)
	me.stage[s].Committed()
	me.loads[s] = me.loads[s][1:]
	for _, m := range f.Commit.Moves {
		b := int(m.Input.Partition)
		h := me.held[b]
		if h == nil {
			continue
		}
		h.Committed(res.Gone)
		if !m.GiveTo.IsZero() {
			me.held[b] = nil
		}
	}
	me.cache.Pruned(res.Gone)
	for _, m := range f.Commit.Moves { // a poll may have passed it by while its commit was under way
		if b := int(m.Input.Partition); me.held[b] != nil {
			x.settle(n, i, b, 0)
		}
	}
}

// voidStage gives up every batch of a keyed stage; their buckets are reloaded.
func (x *explorer) voidStage(n *world, i, s int) {
	me := n.own(i)
	old := me.stage[s].Clone()
	writer, raise := me.stage[s].Void()
	me.loads[s] = nil
	for _, f := range old.flights {
		for _, m := range f.Commit.Moves {
			if h := me.held[m.Input.Partition]; h != nil && h.Flying() {
				me.held[m.Input.Partition] = nil
			}
		}
	}
	x.settleVoid(n, i, &me.stage[s], &old, writer, raise)
}

// idleBucket commits an empty batch. Only one that fails is a step.
func (x *explorer) idleBucket(w *world, i, b int) {
	h := w.proc[i].held[b]
	p := &w.proc[i].stage[b/2]
	if p.Unknown() || h.Flying() || p.Holds(h.Input) {
		return
	}
	n := w.fork()
	c := Commit{Container: life(i), Moves: []Move{n.own(i).held[b].Freeze()}}
	if _, err := n.ownStore().rows.Commit(c); errors.Is(err, ErrLost) {
		n.own(i).held[b] = nil
		x.out(n, false, "%s: empty commit of bucket %d is lost; it reloads", lifeNames[i], b)
	}
}
