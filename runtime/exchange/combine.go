package exchange

import (
	"bytes"
	"math"
)

// combineFixed folds two fixed cells of one kind. Integer sums wrap: whoever calls has made sure, by
// headroom or by addOverflows, that they do not.
func combineFixed(kind CellKind, a, b uint64) uint64 {
	switch kind.base() {
	case AddInt:
		return a + b
	case AddFloat:
		return floatBits(math.Float64frombits(a) + math.Float64frombits(b))
	case MinInt:
		return uint64(min(int64(a), int64(b)))
	case MaxInt:
		return uint64(max(int64(a), int64(b)))
	}
	x, y := floatOrder(math.Float64frombits(a)), floatOrder(math.Float64frombits(b))
	if (x <= y) == (kind.base() == MinFloat) {
		return a
	}
	return b
}

// addOverflows tells whether a + b leaves the range of int64.
func addOverflows(a, b uint64) bool {
	sum := a + b
	return (a^sum)&(b^sum)&signBit != 0
}

// combine folds the words of a tuple into the entry at index at of the cells. Wide shapes only.
func (b *BucketTable) combine(at int, words []uint64, src []byte) {
	s := b.shape
	entry := b.cells[at : at+s.words]
	have, add := s.present(entry), s.present(words)
	first := s.firstCell()
	if s.nullable {
		entry[0] |= add
	}
	for i, kind := range s.layout {
		bit := uint64(1) << i
		cell, value := &entry[first+i], words[first+i]
		switch {
		case add&bit == 0:
		case kind.variable() && have&bit == 0:
			*cell = b.keep(spanOf(value, src))
		case kind.variable():
			b.combineBytes(kind.base(), cell, spanOf(value, src))
		case have&bit == 0:
			*cell = value
		default:
			*cell = combineFixed(kind, *cell, value)
		}
	}
}

// combineBytes folds value into a variable cell.
func (b *BucketTable) combineBytes(kind CellKind, cell *uint64, value []byte) {
	old := spanOf(*cell, b.arena)
	switch kind {
	case MinText:
		if bytes.Compare(value, old) < 0 {
			b.replace(cell, value)
		}
	case MaxText:
		if bytes.Compare(value, old) > 0 {
			b.replace(cell, value)
		}
	default:
		if b.decimals == nil {
			b.decimals = new(decimals)
		}
		if result := b.decimals.combine(kind, old, value); !bytes.Equal(result, old) {
			b.replace(cell, result)
		}
	}
}

// keep copies the bytes of a variable cell into the arena.
func (b *BucketTable) keep(value []byte) uint64 {
	at := len(b.arena)
	b.arena = append(b.arena, value...)
	b.bytes += len(value)
	return span(at, len(value))
}

// replace overwrites a variable cell, in place if the new bytes fit.
func (b *BucketTable) replace(cell *uint64, value []byte) {
	old := spanOf(*cell, b.arena)
	b.bytes -= len(old)
	if len(value) <= len(old) {
		copy(old, value)
		*cell = span(int(*cell>>24), len(value))
		b.bytes += len(value)
		b.garbage += len(old) - len(value)
		return
	}
	b.garbage += len(old)
	*cell = b.keep(value)
	if b.garbage > minGarbage && b.garbage > len(b.arena)/2 {
		b.compact()
	}
}

// minGarbage is the garbage below which an arena is not worth compacting, in bytes.
const minGarbage = 64 << 10

// compact moves what the arena still holds into a fresh one.
func (b *BucketTable) compact() {
	old := b.arena
	b.arena, b.garbage = make([]byte, 0, len(old)), 0
	for i := range b.slots {
		s := &b.slots[i]
		if s.key[0] == 0 {
			continue
		}
		if s.key.long() {
			b.moveKey(&s.key, old)
		}
		b.moveCells(int(s.cell[0]), old)
	}
}

// moveKey copies a long key from src to the arena and points the slot there.
func (b *BucketTable) moveKey(key *slotKey, src []byte) {
	at, hash := len(b.arena), key.longHash()
	b.arena = append(b.arena, key.bytes(src)...)
	key.setLong(at, key.longLen())
	key.setHash(hash)
}

// moveCells copies the variable cells of the entry at index at from src to the arena.
func (b *BucketTable) moveCells(at int, src []byte) {
	s := b.shape
	entry := b.cells[at : at+s.words]
	have, first := s.present(entry), s.firstCell()
	for i, kind := range s.layout {
		if kind.variable() && have&(1<<i) != 0 {
			value := spanOf(entry[first+i], src)
			entry[first+i] = span(len(b.arena), len(value))
			b.arena = append(b.arena, value...)
		}
	}
}
