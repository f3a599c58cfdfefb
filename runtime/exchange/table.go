package exchange

import (
	"fmt"

	"github.com/selfregulating/sr/runtime"
)

// Sizes of blocks. A batch is cut when its largest block reaches BlockTarget; no block passes BlockMax.
const (
	BlockTarget = 1 << 20
	BlockMax    = 8 << 20
)

// Table is the combiner in front of an exchange: the entries of one batch, by bucket. The tuples of a
// record are added one by one and enter the table together with CommitRecord, or not at all.
//
// After each CommitRecord the caller compares Largest with BlockTarget and Bytes with its own bound,
// and cuts the batch when one is reached.
type Table struct {
	shape   *Shape
	buckets []*BucketTable
	// pending are committed records that were not merged yet, then, from mark, the open record.
	pending window
	mark    mark
	// route is the bucket of the tuples to come, or byKey.
	route int32
	// err is what was wrong with the open record.
	err            error
	room           headroom
	bytes, largest int
	// unmeasured bounds what was merged since bytes and largest were brought up to date.
	unmeasured int
	scratch    []byte
	checked    checked
}

// mark is a position in a window.
type mark struct{ tuples, words, bytes int }

const (
	// pendingBytes is how much may wait beside a window full of tuples, in bytes.
	pendingBytes = 32 << 10
	// measureAfter is how much is merged between two measurements, in bytes.
	measureAfter = 32 << 10
)

// NewTable makes an empty table of n buckets.
func NewTable(shape *Shape, n int) *Table {
	t := &Table{shape: shape, buckets: make([]*BucketTable, n), route: byKey, room: fullHeadroom}
	for i := range t.buckets {
		t.buckets[i] = NewBucketTable(shape)
	}
	return t
}

// Route sends the tuples added from now on to bucket b, whatever their keys: for shuffle, broadcast,
// and sources that are partitioned by the key. RouteByKey undoes it.
func (t *Table) Route(b runtime.Bucket) { t.route = b }

// RouteByKey sends the tuples added from now on to the bucket of their key.
func (t *Table) RouteByKey() { t.route = byKey }

// AddText adds v for the key of one text field s: AddInt(AppendText(nil, s), v), faster. s is not kept.
func (t *Table) AddText(s string, v int64) {
	const header = 2 // tag, length
	if len(s) > maxInline-header || !t.shape.counts {
		t.scratch = AppendText(t.scratch[:0], s)
		t.AddInt(t.scratch, v)
		return
	}
	t.room.take(v)
	n := uint64(len(s))
	lo, hi := load15(s)
	entry := t.pending.next()
	entry.key.set((n+header+1)|uint64(Text)<<8|n<<16|lo<<24, lo>>40|hi<<24)
	entry.cell, entry.bucket = uint64(v), t.route
}

// AddInt adds v for an encoded key to a table whose layout is one AddInt. key is not kept.
func (t *Table) AddInt(key []byte, v int64) {
	if !t.shape.counts {
		t.Add(key, Int(v))
		return
	}
	t.room.take(v)
	t.append(key, uint64(v))
}

// Add adds one cell each to the cells of an encoded key. Neither key nor cells are kept. Cells that do not
// fit the layout in number, or a null in a cell that is not Nullable, are a broken invariant: it panics.
func (t *Table) Add(key []byte, cells ...Cell) {
	layout := t.shape.layout
	if len(cells) != len(layout) {
		panic(fmt.Sprintf("exchange: %d cells for a layout of %d", len(cells), len(layout)))
	}
	if t.shape.narrow {
		t.append(key, t.word(layout[0], &cells[0]))
		return
	}
	at := len(t.pending.words)
	if t.shape.nullable {
		t.pending.words = append(t.pending.words, 0)
	}
	for i, kind := range layout {
		if cells[i].null {
			t.pending.words = append(t.pending.words, t.null(kind))
			continue
		}
		t.pending.words = append(t.pending.words, t.word(kind, &cells[i]))
		if t.shape.nullable {
			t.pending.words[at] |= 1 << i
		}
	}
	t.append(key, uint64(at))
}

func (t *Table) null(kind CellKind) uint64 {
	if kind&Nullable == 0 {
		panic("exchange: null for a cell that is not Nullable")
	}
	return 0
}

// word gives the word of a cell, its bytes put beside the tuples.
func (t *Table) word(kind CellKind, c *Cell) uint64 {
	if c.null {
		return t.null(kind)
	}
	if !kind.variable() {
		if kind.base() == AddInt {
			t.room.take(int64(c.bits))
		}
		return c.bits
	}
	at := len(t.pending.bytes)
	if len(c.text) > BlockMax {
		t.fail(ErrRecordTooLarge)
		return span(at, 0)
	}
	if kind.numeric() {
		var err error
		if t.pending.bytes, err = AppendNumeric(t.pending.bytes, c.text); err != nil {
			t.fail(fmt.Errorf("adding %q: %w", shorten(c.text), err))
		}
	} else {
		t.pending.bytes = append(t.pending.bytes, c.text...)
	}
	return span(at, len(t.pending.bytes)-at)
}

// append puts a tuple behind the others of the open record.
func (t *Table) append(key []byte, cell uint64) {
	if len(key) > MaxKey {
		t.fail(ErrKeyTooLong)
		return
	}
	entry := t.pending.next()
	entry.cell, entry.bucket = cell, t.route
	if len(key) <= maxInline {
		entry.key.setInline(key)
		return
	}
	entry.key.setLong(len(t.pending.bytes), len(key))
	t.pending.bytes = append(t.pending.bytes, key...)
}

// fail makes the next CommitRecord refuse the record.
func (t *Table) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// shorten keeps messages short whatever the value.
func shorten(b []byte) []byte { return b[:min(len(b), 64)] }

// Bucket is the table of one bucket, to be read: encoded, listed, sorted. It is valid until the next
// record is committed. Merging other tables into it would not be seen by Bytes.
func (t *Table) Bucket(b runtime.Bucket) *BucketTable {
	t.settle()
	return t.buckets[b]
}

// Buckets is the number of buckets.
func (t *Table) Buckets() int { return len(t.buckets) }

// Len is the number of entries in all buckets.
func (t *Table) Len() int {
	t.settle()
	n := 0
	for _, b := range t.buckets {
		n += b.count
	}
	return n
}

// Bytes estimates the encoded size of all entries. It may lag by up to 64 KiB.
func (t *Table) Bytes() int { return t.bytes }

// Largest estimates the encoded size of the largest bucket's entries, with the lag of Bytes.
func (t *Table) Largest() int { return t.largest }

// Reset empties the table and forgets an open record. It keeps the memory, unless that was hugely
// more than this filling needed.
func (t *Table) Reset() {
	for _, b := range t.buckets {
		b.Reset()
	}
	t.pending.empty()
	t.mark, t.err, t.room = mark{}, nil, fullHeadroom
	t.bytes, t.largest, t.unmeasured, t.route = 0, 0, 0, byKey
}
