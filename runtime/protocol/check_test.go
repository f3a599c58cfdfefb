package protocol

import "fmt"

// check tells which property of a state is broken, if any.
func (x *explorer) check(w *world, changed uint16) string {
	if changed&(dirtyStore|(dirtyProc-dirtyLog)) != 0 {
		if v := x.checkLoss(w); v != "" {
			return v
		}
	}
	if changed&dirtyStore != 0 {
		if v := x.checkOwners(w); v != "" {
			return v
		}
	}
	if x.faults.restore == 0 && changed >= dirtyProc {
		return x.checkEpochs(w)
	}
	return ""
}

// checkLoss: no resume offset lies past a decided block that is not counted.
func (x *explorer) checkLoss(w *world) string {
	for b := range x.buckets() {
		if x.direct {
			return ""
		}
		end := w.row(b).Position
		for _, k := range w.logs[b].blocks[:end] {
			if w.pg.decided[writerOf(k.Writer)-1] >= uint8(k.Seq) && k.Body[0]&^w.pg.counted[b] != 0 {
				return fmt.Sprintf("loss: bucket %d resumes at %d, past the decided block (%s,%d) at %d that is not counted", b, end, nameOf(k.Writer), k.Seq, k.Offset)
			}
		}
	}
	return ""
}

// checkOwners: no row names a container that can own nothing.
func (x *explorer) checkOwners(w *world) string {
	for i := range w.pg.rows.Progress {
		row := &w.pg.rows.Progress[i]
		if !row.Owner.IsZero() && !w.pg.rows.alive(row.Owner) || !row.NextOwner.IsZero() && !w.pg.rows.alive(row.NextOwner) {
			return fmt.Sprintf("owner: the row of %s names a fenced container", row.Input)
		}
	}
	return ""
}

// checkEpochs: no two processes hold an input in one epoch. After a restore epochs come again, with
// other owners.
func (x *explorer) checkEpochs(w *world) string {
	for i, p := range w.proc {
		for _, q := range w.proc[i+1:] {
			if p == nil || q == nil {
				continue
			}
			for _, o := range p.src.owned {
				if k, ok := q.src.find(o.Input); ok && q.src.owned[k].Epoch == o.Epoch {
					return fmt.Sprintf("two owners of source %s in epoch %d", o.Input, o.Epoch)
				}
			}
			for b := range p.held {
				if p.held[b] != nil && q.held[b] != nil && p.held[b].Epoch == q.held[b].Epoch {
					return fmt.Sprintf("two owners of bucket %d in epoch %d", b, p.held[b].Epoch)
				}
			}
		}
	}
	return ""
}

// quiescent: every record was read, every block decided and every record counted once.
func (x *explorer) quiescent(w *world) bool {
	var counted [2]uint8
	for i := range w.pg.rows.Progress {
		row := &w.pg.rows.Progress[i]
		if row.Input.Operator == "0" {
			if row.Position != x.end(row.Input) {
				return false
			}
			continue
		}
		b := int(row.Input.Partition)
		if !x.direct && row.Position != int64(len(w.logs[b].blocks)) {
			return false
		}
		counted[b/2] |= w.pg.counted[b]
	}
	for s := range x.buckets() / 2 {
		if counted[s] != x.all() {
			return false
		}
	}
	return true
}
