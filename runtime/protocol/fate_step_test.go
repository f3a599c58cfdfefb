package protocol

import (
	"slices"

	"github.com/selfregulating/sr/runtime"
)

// control emits the steps of the controller: fences, assignments, planned moves, deletion of
// writers.
func (x *explorer) control(w *world) {
	var alive []int
	for i := range lives {
		if x.living(w, i) {
			alive = append(alive, i)
		}
	}
	for i := range lives {
		x.fence(w, i, alive)
	}
	x.register(w, alive)
	for k := range w.pg.rows.Progress {
		for to, p := range w.proc { // also to those that are gone: the controller may not know it yet
			if p != nil {
				x.place(w, k, to)
			}
		}
	}
	if x.deletes {
		x.deleteWriters(w)
	}
}

func (x *explorer) fence(w *world, i int, alive []int) {
	if w.proc[i] == nil || !w.pg.rows.alive(life(i)) {
		return
	}
	dead := w.proc[i].dead
	if !dead && w.left.fence == 0 {
		return
	}
	to := slices.DeleteFunc(slices.Clone(alive), func(o int) bool { return o == i })
	if len(to) == 0 && (dead || w.proc[2] == nil) {
		to = []int{-1}
	}
	for _, o := range to {
		n := w.fork()
		if !dead {
			n.left.fence--
		}
		next := runtime.Incarnation{}
		if o >= 0 {
			next = life(o)
		}
		n.ownStore().rows.Fence(life(i), func(runtime.Input) runtime.Incarnation { return next })
		x.out(n, !dead, "controller fences %s, its rows go to %s", lifeNames[i], append(lifeNames[:], "nobody")[(o+4)%4])
	}
}

// register starts A2, which fences A1.
func (x *explorer) register(w *world, alive []int) {
	if w.proc[2] != nil {
		x.cut = x.cut || len(alive) == 0 // after a restore: no incarnation is left in this bound
		return
	}
	if len(alive) > 0 && w.left.register == 0 {
		return
	}
	n := w.fork()
	if len(alive) > 0 {
		n.left.register--
	}
	rows := &n.ownStore().rows
	rows.Register(life(2))
	if rows.alive(life(0)) {
		rows.Fence(life(0), func(runtime.Input) runtime.Incarnation { return life(2) })
	}
	n.proc[2] = x.start(2)
	n.dirty |= dirtyProc << 2
	x.out(n, len(alive) > 0, "container A registers again as A2, which fences A1")
}

// place assigns a row that nobody owns, or plans a move.
func (x *explorer) place(w *world, k, to int) {
	row := &w.pg.rows.Progress[k]
	if !w.pg.rows.alive(row.Owner) {
		n := w.fork()
		if n.ownStore().rows.Assign(row.Input, life(to)) == nil {
			x.out(n, false, "controller assigns %s to %s", row.Input, lifeNames[to])
		}
		return
	}
	if w.left.move > 0 && row.NextOwner.IsZero() && row.Owner != life(to) {
		n := w.fork()
		n.left.move--
		if n.ownStore().rows.Plan(row.Input, row.Owner, life(to)) == nil {
			x.out(n, true, "controller plans the move of %s to %s", row.Input, lifeNames[to])
		}
	}
}

func (x *explorer) deleteWriters(w *world) {
	for k := range w.pg.rows.Writers {
		row := &w.pg.rows.Writers[k]
		if row.CloseOffsets != nil {
			continue
		}
		var ends []CloseOffset
		first := 0
		if row.Stage == "keyed" {
			first = 2
		}
		for b := first; b < first+2; b++ {
			ends = append(ends, CloseOffset{bucketInput(b), int64(len(w.logs[b].blocks))})
		}
		n := w.fork()
		n.ownStore().rows.ListClose(row.Writer, ends)
		if n.pg.rows.Writers[k].CloseOffsets != nil {
			x.out(n, true, "controller lists the close offsets of %s: %v", nameOf(row.Writer), ends)
		}
	}
	n := w.fork()
	if gone := n.ownStore().rows.DeleteWriters(); len(gone) > 0 {
		x.out(n, true, "the rows of %d writers are deleted, %s first", len(gone), nameOf(gone[0]))
	}
}

// fate emits what nobody decides: crashes, late commits, stray blocks, duplicates, restores.
func (x *explorer) fate(w *world) {
	x.crash(w)
	x.land(w)
	x.restore(w)
	if w.left.dup == 0 {
		return
	}
	for b, l := range w.logs {
		for o := range l.blocks {
			n := w.fork()
			n.left.dup--
			n.append(b, l.blocks[o])
			x.out(n, true, "the broker appends bucket %d offset %d again, at %d", b, o, len(l.blocks))
		}
	}
}

func (x *explorer) crash(w *world) {
	if w.left.crash == 0 {
		return
	}
	for i, p := range w.proc {
		survivors := w.proc[2] == nil
		for o := range lives {
			survivors = survivors || o != i && x.living(w, o)
		}
		if p == nil || p.dead || !survivors {
			continue
		}
		n := w.fork()
		n.left.crash--
		n.proc[i] = &process{dead: true}
		n.dirty |= dirtyProc << i
		x.out(n, true, "%s is killed", lifeNames[i])
	}
}

func (x *explorer) land(w *world) {
	for k, c := range w.air.commits {
		n := w.fork()
		a := n.ownAir()
		a.commits = slices.Delete(a.commits, k, k+1)
		_, err := x.transact(n, c.commit, c.load)
		x.out(n, true, "Postgres runs the late commit of %s (writer %s, seq %d): %s", lifeNames[c.life],
			nameOf(c.commit.Writer.Writer), c.commit.Writer.Seq, outcome(err))
	}
	for k, s := range w.air.strays {
		n := w.fork()
		a := n.ownAir()
		a.strays = slices.Delete(a.strays, k, k+1)
		n.append(s.bucket, s.block)
		x.out(n, true, "the block (%s,%d) that was given up reaches bucket %d", nameOf(s.block.Writer), s.block.Seq, s.bucket)
	}
}

// restore takes a backup, and later puts Postgres back to it while Kafka keeps its blocks.
func (x *explorer) restore(w *world) {
	switch w.left.restore {
	case 2:
		n := w.fork()
		n.left.restore = 1
		n.saved = w.pg
		x.out(n, true, "Postgres is backed up")
	case 1:
		n := w.fork()
		n.left.restore = 0
		n.pg, n.saved, n.air = w.saved, nil, &air{strays: w.air.strays}
		n.dirty |= dirtyAir
		if pg := n.ownStore(); len(pg.decided) < n.opened {
			pg.decided = append(pg.decided, make([]uint8, n.opened-len(pg.decided))...)
		}
		if !x.goesOn { // a planned restore fences every container and closes every writer
			for i := range lives {
				n.pg.rows.Fence(life(i), nobody)
			}
		}
		x.out(n, true, "Postgres is restored from the backup")
	}
}
