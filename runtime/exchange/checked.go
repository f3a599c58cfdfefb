package exchange

import "fmt"

// checked merges tuples when a sum may overflow: all of them or none. It combines them alone first,
// then compares each result with the entry that it would change, and only then merges.
type checked struct {
	alone []*BucketTable
}

// merge merges tuples that refer to w into tables. After ErrOverflow the tables are unchanged.
func (c *checked) merge(tables []*BucketTable, tuples []tuple, w *window) error {
	w.locate(tables, tuples, w.bytes)
	return c.mergeLocated(tables, tuples, w.words, w.bytes)
}

func (c *checked) mergeLocated(tables []*BucketTable, tuples []tuple, words []uint64, src []byte) error {
	c.reset(tables)
	for i := range tuples {
		t := &tuples[i]
		alone := c.alone[t.bucket]
		if alone.wouldOverflow(t, words, src) {
			return overflow(t, src)
		}
		alone.fold(t, words, src)
		alone.tuples++
	}
	return c.pour(tables)
}

// pour merges what was combined alone.
func (c *checked) pour(tables []*BucketTable) error {
	for i, alone := range c.alone {
		for t := range alone.located() {
			if tables[i].wouldOverflow(&t, alone.cells, alone.arena) {
				return overflow(&t, alone.arena)
			}
		}
	}
	for i, alone := range c.alone {
		for t := range alone.located() {
			tables[i].fold(&t, alone.cells, alone.arena)
		}
		tables[i].tuples += alone.tuples
	}
	return nil
}

// reset makes as many empty tables as there are tables.
func (c *checked) reset(tables []*BucketTable) {
	for len(c.alone) < len(tables) {
		c.alone = append(c.alone, NewBucketTable(tables[0].shape))
	}
	for _, b := range c.alone {
		b.Reset()
	}
}

// located yields the entries as tuples that refer to the table's own cells and arena.
func (b *BucketTable) located() func(yield func(tuple) bool) {
	return func(yield func(tuple) bool) {
		for i := range b.slots {
			s := &b.slots[i]
			if s.key[0] != 0 && !yield(tuple{key: s.key, cell: s.cell[0], hash: s.hash()}) {
				return
			}
		}
	}
}

// wouldOverflow tells whether folding t would take an integer sum out of range.
func (b *BucketTable) wouldOverflow(t *tuple, words []uint64, src []byte) bool {
	if !b.shape.sums {
		return false
	}
	s := b.find(t, src)
	if s.key[0] == 0 {
		return false
	}
	if b.shape.narrow {
		return addOverflows(s.cell[0], t.cell)
	}
	entry, add := b.cells[s.cell[0]:][:b.shape.words], words[t.cell:][:b.shape.words]
	both := b.shape.present(entry) & b.shape.present(add)
	first := b.shape.firstCell()
	for i, kind := range b.shape.layout {
		if kind.base() == AddInt && both&(1<<i) != 0 && addOverflows(entry[first+i], add[first+i]) {
			return true
		}
	}
	return false
}

func overflow(t *tuple, src []byte) error {
	return fmt.Errorf("adding to key %s: %w", shorten([]byte(FormatKey(t.key.bytes(src)))), ErrOverflow)
}
