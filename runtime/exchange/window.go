package exchange

import (
	"slices"

	"github.com/zeebo/xxh3"
)

// window holds tuples on their way into tables. They are merged many at a time in two passes: the
// first hashes each key and touches its slot, the second merges. The loads of the first pass do not
// depend on one another, so the machine waits for many cache misses at once rather than for each in turn.
type window struct {
	tuples  []tuple
	words   []uint64 // cells of wide tuples, shape.words each
	bytes   []byte   // long keys and variable cells
	touched uint64   // keeps the loads of the first pass alive
}

// windowSize is how many tuples are merged at a time: enough misses to keep the memory busy, few
// enough for the touched lines to stay in the first-level cache (64 x 64 bytes).
const windowSize = 64

// byKey is the bucket of a tuple that goes where its key's hash says.
const byKey = -1

// next makes room for one more tuple, to be filled in place.
func (w *window) next() *tuple {
	n := len(w.tuples)
	if n == cap(w.tuples) {
		w.tuples = slices.Grow(w.tuples, windowSize)
	}
	w.tuples = w.tuples[:n+1]
	return &w.tuples[n]
}

// mergeAll merges tuples into the tables of their buckets. words and src are what the tuples refer to.
func (w *window) mergeAll(tables []*BucketTable, tuples []tuple, words []uint64, src []byte) {
	for len(tuples) > 0 {
		n := min(windowSize, len(tuples))
		w.locate(tables, tuples[:n], src)
		if tables[0].shape.counts {
			w.count(tables, tuples[:n], src)
		} else {
			w.touchCells(tables, tuples[:n], src)
			fold(tables, tuples[:n], words, src)
		}
		tuples = tuples[n:]
	}
}

// locate is the first pass: hash, bucket, home, touch.
func (w *window) locate(tables []*BucketTable, tuples []tuple, src []byte) {
	n := uint64(len(tables))
	pow2 := n&(n-1) == 0
	touched := uint64(0)
	for i := range tuples {
		t := &tuples[i]
		h := uint64(0)
		if t.key.long() {
			h = xxh3.Hash(t.key.bytes(src))
			t.key.setHash(h)
		} else {
			h = xxh3.Hash(t.key[1:t.key[0]])
		}
		t.hash = h
		switch {
		case t.bucket >= 0:
		case pow2:
			t.bucket = int32(h & (n - 1))
		default:
			t.bucket = int32(h % n)
		}
		b := tables[t.bucket]
		home := b.home(h)
		t.home = uint32(home)
		s := &b.slots[home]
		touched += uint64(s.key[0]) + s.cell[0] // a slot may lie on two lines
	}
	w.touched = touched
}

// count is the second pass for the commonest shape, one AddInt per key: fold, written out.
func (w *window) count(tables []*BucketTable, tuples []tuple, src []byte) {
	for i := range tuples {
		t := &tuples[i]
		b := tables[t.bucket]
		b.tuples++
		size := len(b.slots)
		if t.key.long() {
			b.fold(t, nil, src)
		} else if !increment(b.slots, t) {
			b.insert(t, nil, src)
		}
		if len(b.slots) != size { // it grew: the homes of the rest may have moved
			w.locate(tables, tuples[i+1:], src)
		}
	}
}

// increment adds to the entry of an inline key and tells whether there is one.
func increment(slots []slot, t *tuple) bool {
	lo, hi := t.key.words()
	for at := int(t.home); ; at++ {
		s := &slots[at&(len(slots)-1)]
		switch slo, shi := s.key.words(); {
		case slo == lo && shi == hi:
			s.cell[0] += t.cell
			return true
		case slo == 0:
			return false
		}
	}
}

// touchCells is a pass between the two for wide entries, whose cells are another cache miss.
func (w *window) touchCells(tables []*BucketTable, tuples []tuple, src []byte) {
	if s := tables[0].shape; s.narrow || !s.combine || s.words == 0 {
		return
	}
	touched := uint64(0)
	for i := range tuples {
		t := &tuples[i]
		b := tables[t.bucket]
		if s := b.find(t, src); s.key[0] != 0 {
			touched += b.cells[s.cell[0]]
		}
	}
	w.touched += touched
}

// fold is the second pass for every other shape.
func fold(tables []*BucketTable, tuples []tuple, words []uint64, src []byte) {
	for i := range tuples {
		t := &tuples[i]
		b := tables[t.bucket]
		b.tuples++
		if b.shape.combine {
			b.fold(t, words, src)
		} else {
			b.log(t, words, src)
		}
	}
}
