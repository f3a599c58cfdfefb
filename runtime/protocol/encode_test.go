package protocol

// The encoding of a world, one byte a number: all numbers are small within the bounds. Counters of
// the vitals are left out, they decide nothing.

func flag(e []byte, b bool) []byte {
	if b {
		return append(e, 1)
	}
	return append(e, 0)
}

func (s *store) encode(e []byte) []byte {
	for _, c := range s.rows.Containers {
		e = flag(append(e, c.Incarnation[15]), c.Fenced)
	}
	e = append(e, 0xff)
	for _, w := range s.rows.Writers {
		e = append(e, w.Writer[15], w.Container[15], byte(w.Committed), byte(len(w.CloseOffsets)))
		e = flag(flag(e, w.Closed), w.CloseOffsets == nil)
		for _, o := range w.CloseOffsets {
			e = append(e, byte(o.Offset))
		}
	}
	e = append(e, 0xff)
	for i := range s.rows.Progress {
		p := &s.rows.Progress[i]
		e = append(e, p.Owner[15], byte(p.Epoch), p.NextOwner[15], byte(p.TxID), byte(p.Position))
		e = encodeApplied(e, p.Applied)
	}
	e = append(e, s.counted[:]...)
	return append(e, s.decided...)
}

func encodeApplied(e []byte, a []WriterSeq) []byte {
	e = append(e, byte(len(a)))
	for _, s := range a {
		e = append(e, s.Writer[15], byte(s.Seq))
	}
	return e
}

func encodeBlock(e []byte, b *Block) []byte {
	return append(e, b.Writer[15], byte(b.Seq), byte(b.Prev), b.Body[0])
}

func (l *partition) encode(e []byte) []byte {
	for i := range l.blocks {
		e = encodeBlock(e, &l.blocks[i])
	}
	return e
}

func (a *air) encode(e []byte) []byte {
	for i := range a.commits {
		c := &a.commits[i]
		e = append(e, byte(c.life), byte(c.stage))
		e = encodeCommit(e, &c.commit)
		e = encodeLoad(e, &c.load)
	}
	e = append(e, 0xff)
	for i := range a.strays {
		e = encodeBlock(append(e, byte(a.strays[i].bucket)), &a.strays[i].block)
	}
	return e
}

func encodeLoad(e []byte, l *load) []byte {
	return append(e, l.add[0], l.add[1], l.bad[0], l.bad[1], l.right)
}

func encodeCommit(e []byte, c *Commit) []byte {
	e = append(e, c.Writer.Writer[15], byte(c.Writer.Seq), byte(len(c.Moves)))
	for i := range c.Moves {
		m := &c.Moves[i]
		e = append(e, number(m.Input), byte(m.Epoch), byte(m.TxID), byte(m.Position), m.GiveTo[15])
		e = encodeApplied(e, m.Applied)
		e = encodeApplied(e, m.Relied)
		e = encodeApplied(e, m.Dropped)
	}
	return e
}

func (p *Production) encode(e []byte) []byte {
	e = append(e, p.writer.ID[15], byte(p.writer.seq), byte(len(p.writer.last)))
	for _, s := range p.writer.last {
		e = append(e, byte(s))
	}
	e = append(flag(e, p.unknown), byte(len(p.flights)))
	for _, f := range p.flights {
		e = encodeCommit(e, &f.Commit)
		e = append(e, byte(len(f.Stamps)), byte(len(f.unsent)))
		for i := range f.Stamps {
			e = append(e, byte(f.Stamps[i].Out), byte(f.Stamps[i].Prev))
		}
		for _, o := range f.unsent {
			e = append(e, byte(o))
		}
	}
	return e
}

func (r *Receiver) encode(e []byte) []byte {
	e = append(e, byte(r.Epoch), byte(r.TxID), byte(r.Resume), byte(r.Read), byte(r.frozen), byte(len(r.pending)))
	for i := range r.pending {
		e = encodeBlock(append(e, byte(r.pending[i].Offset)), &r.pending[i])
	}
	e = encodeApplied(e, r.applied)
	e = encodeApplied(e, r.relied)
	e = encodeApplied(e, r.dropped)
	return flag(e, r.flying)
}

func encodeView(e []byte, v View) []byte {
	e = append(e, byte(len(v)))
	for _, s := range v {
		e = flag(append(e, s.Writer[15], byte(s.Committed)), s.Closed)
	}
	return e
}

func (p *process) encode(e []byte) []byte {
	e = flag(append(e, p.src.Container[15]), p.dead)
	e = p.src.Production.encode(e)
	for _, o := range p.src.owned {
		e = append(e, number(o.Input), byte(o.Epoch), byte(o.TxID), byte(o.Position))
	}
	e = append(append(e, 0xff, byte(p.told[0]), byte(p.told[1])), p.right...)
	for s := range p.stage {
		e = p.stage[s].encode(e)
		for k := range p.loads[s] {
			e = encodeLoad(e, &p.loads[s][k])
		}
	}
	for b, h := range p.held {
		if h == nil {
			continue
		}
		e = append(e, byte(b), h.add, h.bad, byte(h.told))
		e = h.Receiver.encode(e)
	}
	e = encodeView(append(e, 0xff), p.cache.view)
	if p.polls != nil {
		e = encodeView(e, p.polls.view)
		for _, o := range p.polls.asked {
			e = append(e, byte(o))
		}
	}
	return e
}
