package exchange

import (
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"
)

// BucketTable holds the entries of one bucket: partial aggregates by key, or, when its shape does not
// combine, the tuples in order of arrival. A Table has one per bucket; a receiver keeps one for what
// its bucket has gathered since the last commit, and swaps it with a second one while it commits.
// An empty one has no memory beside the struct.
type BucketTable struct {
	shape *Shape
	// slots is an open addressing with linear probing; its length is a power of two.
	slots []slot
	// mult and shift take the place of a key from its hash: (hash * mult) >> shift.
	mult  uint64
	shift uint8
	// count of entries; at limit the slots must grow before the next one.
	count, limit int
	// cells are the words of wide entries, shape.words each.
	cells []uint64
	// arena holds long keys and variable cells; without combining, the encoded entries.
	arena []byte
	// garbage counts the bytes of the arena that no entry refers to.
	garbage int
	// bytes is the accounted size of the entries in a block.
	bytes int
	// tuples counts what was folded into the entries.
	tuples   int64
	room     headroom
	decimals *decimals
}

// vacant stands for the slots of an empty table, so that probing needs no special case. It is never
// written: limit 0 makes the first insertion grow.
var vacant [1]slot

// NewBucketTable makes an empty table.
func NewBucketTable(shape *Shape) *BucketTable {
	b := &BucketTable{shape: shape}
	b.Reset()
	return b
}

// Len is the number of entries.
func (b *BucketTable) Len() int { return b.count }

// Tuples is the number of tuples that were folded into the entries.
func (b *BucketTable) Tuples() int64 { return b.tuples }

// Bytes estimates the encoded size of the entries in a block: exact for keys, texts and floats; four
// bytes for an integer, which may be ten.
func (b *BucketTable) Bytes() int { return b.bytes }

// worstBytes is the most that the entries can take in a block.
func (b *BucketTable) worstBytes() int {
	if !b.shape.combine {
		return b.bytes
	}
	return b.bytes + b.count*(b.shape.worst-b.shape.typical)
}

// Reset empties the table. It keeps the memory, unless it is hugely more than this filling needed.
func (b *BucketTable) Reset() {
	if len(b.slots) <= 1 || len(b.slots) > minShrink && b.count < len(b.slots)/32 {
		b.slots, b.mult, b.shift, b.limit = vacant[:], 0, 0, 0
	} else {
		clear(b.slots)
	}
	b.cells = emptied(b.cells)
	b.arena = emptied(b.arena)
	b.count, b.garbage, b.bytes, b.tuples = 0, 0, 0, 0
	b.room = fullHeadroom
}

const (
	minSlots  = 8
	minShrink = 1024
)

// emptied truncates s and lets go of memory that was hugely more than s needed.
func emptied[T any](s []T) []T {
	if cap(s) > 16*minShrink && len(s) < cap(s)/32 {
		return nil
	}
	return s[:0]
}

// home is the place where probing for a hash begins.
func (b *BucketTable) home(hash uint64) int { return int((hash * b.mult) >> (b.shift & 63)) }

// find gives the slot of a tuple's key, or the empty slot where it belongs.
func (b *BucketTable) find(t *tuple, src []byte) *slot {
	lo, hi := t.key.words()
	mask := len(b.slots) - 1
	for i := b.home(t.hash); ; i = (i + 1) & mask {
		s := &b.slots[i]
		slo, shi := s.key.words()
		if slo == 0 || slo == lo && shi == hi && !t.key.long() {
			return s
		}
		if t.key.long() && t.key.equalLong(src, &s.key, b.arena) {
			return s
		}
	}
}

// fold combines a tuple into its entry, or makes the entry.
func (b *BucketTable) fold(t *tuple, words []uint64, src []byte) {
	s := b.find(t, src)
	switch {
	case s.key[0] == 0:
		b.insert(t, words, src)
	case b.shape.narrow:
		s.cell[0] = combineFixed(b.shape.layout[0], s.cell[0], t.cell)
	default:
		b.combine(int(s.cell[0]), words[t.cell:], src)
	}
}

// insert makes an entry for a key that has none.
func (b *BucketTable) insert(t *tuple, words []uint64, src []byte) {
	if b.count == b.limit {
		b.grow()
	}
	s := b.find(t, src)
	s.key, s.cell[0] = t.key, t.cell
	b.bytes += keySize(t.key.length()) + b.shape.typical
	if t.key.long() {
		b.moveKey(&s.key, src)
	}
	if !b.shape.narrow {
		at := len(b.cells)
		b.cells = append(b.cells, words[t.cell:][:b.shape.words]...)
		b.adopt(at, src)
		s.cell[0] = uint64(at)
	}
	b.count++
}

// adopt brings the variable cells of a new entry from src into the arena.
func (b *BucketTable) adopt(at int, src []byte) {
	before := len(b.arena)
	b.moveCells(at, src)
	b.bytes += len(b.arena) - before
}

// grow doubles the slots.
func (b *BucketTable) grow() { b.resize(max(2*len(b.slots), minSlots)) }

// reserve makes room for n entries in an empty table.
func (b *BucketTable) reserve(n int) {
	size := minSlots
	for limitOf(size) < n {
		size *= 2
	}
	if size > len(b.slots) {
		b.resize(size)
	}
	if !b.shape.narrow {
		b.cells = slices.Grow(b.cells, n*b.shape.words)
	}
}

// limitOf is how many of so many slots may be taken.
func limitOf(slots int) int { return slots / 8 * 5 }

// resize moves the entries to other slots. Each size has its own multiplier: entries that arrive in the
// order of another table's slots, as those of a block do, would otherwise fill this one from one end,
// with probe sequences as long as the table.
func (b *BucketTable) resize(size int) {
	old := b.slots
	b.slots, b.limit = make([]slot, size), limitOf(size)
	b.mult, b.shift = scramble(uint64(size))|1, uint8(65-bits.Len(uint(size)))
	for i := range old {
		if old[i].key[0] != 0 {
			b.rehash(&old[i])
		}
	}
}

func (b *BucketTable) rehash(s *slot) {
	mask := len(b.slots) - 1
	i := b.home(s.hash())
	for b.slots[i].key[0] != 0 {
		i = (i + 1) & mask
	}
	b.slots[i] = *s
}

// hash gives the hash of a slot in a table; long keys carry theirs.
func (s *slot) hash() uint64 {
	if s.key.long() {
		return s.key.longHash()
	}
	return xxh3.Hash(s.key[1:s.key[0]])
}

// length is the number of bytes of the encoded key.
func (k *slotKey) length() int {
	if k.long() {
		return k.longLen()
	}
	return int(k[0]) - 1
}

// keySize is the size of a key of n bytes in a block.
func keySize(n int) int {
	if n < 0x80 {
		return 1 + n
	}
	return 2 + n
}

// scramble is the finalizer of splitmix64.
func scramble(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
