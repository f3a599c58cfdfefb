package exchange

// Merger folds blocks and tables into BucketTables. It holds the scratch space: one serves all
// buckets of an instance whose tables have the same Shape.
type Merger struct {
	window  window
	checked checked
	one     [1]*BucketTable
}

// MergeBlock folds the body of a block into dst, all of it or nothing: ErrTruncated or ErrEntry if the
// body is malformed, ErrOverflow if an integer sum would leave its range. body is not kept.
func (m *Merger) MergeBlock(dst *BucketTable, h Header, body []byte) error {
	weight, err := dst.shape.check(body, h.Entries)
	if err != nil {
		return err
	}
	if !dst.shape.combine {
		dst.arena = append(dst.arena, body...)
		dst.count, dst.bytes, dst.tuples = dst.count+h.Entries, len(dst.arena), dst.tuples+h.Tuples
		return nil
	}
	if room := dst.room.minus(weight); room.spent {
		if err := m.mergeChecked(dst, h, body); err != nil {
			return err
		}
		dst.room = room
		return nil
	}
	dst.room = dst.room.minus(weight)
	if dst.count == 0 {
		dst.reserve(h.Entries)
	}
	before := dst.tuples
	for at, left := 0, h.Entries; left > 0; left -= len(m.window.tuples) {
		at = m.fill(dst.shape, body, at, min(left, windowSize))
		m.fold(dst, m.window.tuples, m.window.words, body)
	}
	dst.tuples = before + h.Tuples
	return nil
}

// MergeTable folds the entries of src, of the same shape, into dst: ErrOverflow, and dst unchanged, if an integer
// sum would leave its range.
func (m *Merger) MergeTable(dst, src *BucketTable) error {
	header := Header{Entries: src.count, Tuples: src.tuples}
	if !src.shape.combine {
		return m.MergeBlock(dst, header, src.arena)
	}
	return m.MergeBlock(dst, header, src.appendEntries(nil))
}

// mergeChecked is MergeBlock with every sum checked.
func (m *Merger) mergeChecked(dst *BucketTable, h Header, body []byte) error {
	m.fill(dst.shape, body, 0, h.Entries)
	m.one[0] = dst
	before := dst.tuples
	m.window.locate(m.one[:], m.window.tuples, body)
	err := m.checked.mergeLocated(m.one[:], m.window.tuples, m.window.words, body)
	if err == nil {
		dst.tuples = before + h.Tuples
	}
	m.window.empty()
	return err
}

// fold merges tuples that refer to words and src.
func (m *Merger) fold(dst *BucketTable, tuples []tuple, words []uint64, src []byte) {
	m.one[0] = dst
	m.window.mergeAll(m.one[:], tuples, words, src)
}

// fill decodes n entries of a checked body into the window and returns where the next one begins.
func (m *Merger) fill(s *Shape, body []byte, at, n int) int {
	w := &m.window
	w.tuples, w.words = w.tuples[:0], w.words[:0]
	var words [1 + MaxCells]uint64
	for range n {
		key, size, next, err := s.parse(body, at, words[:s.words])
		if err != nil {
			panic("exchange: a checked block is malformed: " + err.Error())
		}
		t := tuple{cell: words[0]} // bucket 0: the only one
		if !s.narrow {
			t.cell = uint64(len(w.words))
			w.words = append(w.words, words[:s.words]...)
		}
		if size <= maxInline {
			t.key.setInline(body[key : key+size])
		} else {
			t.key.setLong(key, size)
		}
		w.tuples = append(w.tuples, t)
		at = next
	}
	return at
}

// check reads a whole body and gives the sum of the absolute values of its AddInt cells, as far as
// headroom cares.
func (s *Shape) check(body []byte, entries int) (headroom, error) {
	used := fullHeadroom
	r := s.Read(body, entries)
	for r.Next() {
		if s.sums && s.combine {
			s.weigh(r.words[:s.words], &used)
		}
	}
	return used, r.Err()
}

func (s *Shape) weigh(words []uint64, used *headroom) {
	first := s.firstCell()
	for i, kind := range s.layout {
		if kind.base() == AddInt {
			used.take(int64(words[first+i])) // a null cell is 0
		}
	}
}

// minus is what h leaves when all that was taken from the other one is taken from it.
func (h headroom) minus(other headroom) headroom {
	taken := fullHeadroom.left - other.left
	if h.spent || other.spent || taken > h.left {
		return headroom{spent: true}
	}
	return headroom{left: h.left - taken}
}
