package exchange

import (
	"iter"
	"math"
	"slices"
)

// Entry is a view of one entry of a BucketTable or a block: a key and its cells. It is valid until
// the table changes, respectively until the next entry is read.
type Entry struct {
	// Key is encoded; NextField takes it apart.
	Key   []byte
	words []uint64
	vars  []byte
	shape *Shape
}

// Null tells whether cell i is absent.
func (e *Entry) Null(i int) bool { return e.shape.present(e.words)&(1<<i) == 0 }

// Int is the value of an AddInt, MinInt or MaxInt cell; 0 if it is null.
func (e *Entry) Int(i int) int64 { return int64(e.words[e.shape.firstCell()+i]) }

// Float is the value of an AddFloat, MinFloat or MaxFloat cell; 0 if it is null.
func (e *Entry) Float(i int) float64 { return math.Float64frombits(e.words[e.shape.firstCell()+i]) }

// Bytes is a view of the content of a text, numeric or tuple cell; empty if it is null.
func (e *Entry) Bytes(i int) []byte { return spanOf(e.words[e.shape.firstCell()+i], e.vars) }

// All yields the entries: in order of arrival without combining, else in no order. The Entry that it
// points to is the same each time.
func (b *BucketTable) All() iter.Seq[*Entry] {
	if !b.shape.combine {
		return b.allLogged
	}
	return func(yield func(*Entry) bool) {
		var e Entry
		for i := range b.slots {
			s := &b.slots[i]
			if s.key[0] == 0 {
				continue
			}
			if b.view(s, &e); !yield(&e) {
				return
			}
		}
	}
}

// view fills e from a slot.
func (b *BucketTable) view(s *slot, e *Entry) {
	e.Key, e.shape, e.vars = s.key.bytes(b.arena), b.shape, b.arena
	if b.shape.narrow {
		e.words = s.cell[:]
	} else {
		e.words = b.cells[s.cell[0]:][:b.shape.words]
	}
}

// allLogged yields the entries of a table without combining.
func (b *BucketTable) allLogged(yield func(*Entry) bool) {
	r := b.shape.Read(b.arena, b.count)
	for r.Next() && yield(r.Entry()) {
	}
}

// Ref refers to an entry of a BucketTable.
type Ref struct {
	prefix uint64
	at     uint64 // index of the slot; without combining, offset in the arena
}

// Sorted appends references to all entries to refs, in the order of CompareKeys, entries with equal
// keys in order of arrival. The references are valid until the table changes.
func (b *BucketTable) Sorted(refs []Ref) []Ref {
	first := len(refs)
	refs = b.refs(slices.Grow(refs, b.count))
	slices.SortFunc(refs[first:], func(x, y Ref) int {
		switch {
		case x.prefix < y.prefix:
			return -1
		case x.prefix > y.prefix:
			return 1
		}
		if c := CompareKeys(b.keyAt(x), b.keyAt(y)); c != 0 {
			return c
		}
		return int(x.at) - int(y.at)
	})
	return refs
}

func (b *BucketTable) refs(refs []Ref) []Ref {
	if b.shape.combine {
		for i := range b.slots {
			if s := &b.slots[i]; s.key[0] != 0 {
				refs = append(refs, Ref{keyPrefix(s.key.bytes(b.arena)), uint64(i)})
			}
		}
		return refs
	}
	r := b.shape.Read(b.arena, b.count)
	for at := r.at; r.Next(); at = r.at {
		refs = append(refs, Ref{keyPrefix(r.Entry().Key), uint64(at)})
	}
	return refs
}

// keyAt is the key of an entry.
func (b *BucketTable) keyAt(ref Ref) []byte {
	if b.shape.combine {
		return b.slots[ref.at].key.bytes(b.arena)
	}
	at, n, _ := cutKey(b.arena, int(ref.at))
	return b.arena[at : at+n]
}

// Load fills e with the entry that ref refers to.
func (b *BucketTable) Load(ref Ref, e *Entry) {
	if b.shape.combine {
		b.view(&b.slots[ref.at], e)
		return
	}
	words := make([]uint64, b.shape.words)
	key, n, _, err := b.shape.parse(b.arena, int(ref.at), words)
	if err != nil {
		panic("exchange: a table holds a malformed entry: " + err.Error())
	}
	*e = Entry{Key: b.arena[key : key+n], words: words, vars: b.arena, shape: b.shape}
}
