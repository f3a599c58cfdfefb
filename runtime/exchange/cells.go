package exchange

import (
	"fmt"
	"math"
)

// CellKind tells what a cell holds and how two of them combine. The numbers enter operator
// signatures: never change one.
type CellKind uint8

// The kinds of cells.
const (
	AddInt     CellKind = 1  // sum of int64, ErrOverflow beyond
	AddFloat   CellKind = 2  // sum of float64
	MinInt     CellKind = 3  // least int64
	MaxInt     CellKind = 4  // greatest int64
	MinFloat   CellKind = 5  // least float64, NaN above all numbers
	MaxFloat   CellKind = 6  // greatest float64, NaN above all numbers
	AddNumeric CellKind = 7  // exact sum of decimals, as text
	MinNumeric CellKind = 8  // least decimal, as text
	MaxNumeric CellKind = 9  // greatest decimal, as text
	MinText    CellKind = 10 // bytewise least text
	MaxText    CellKind = 11 // bytewise greatest text
	Tuple      CellKind = 12 // opaque bytes, never combined

	// Nullable is or-ed to a kind whose cell may be absent, as SQL's sum of no value is: AddInt|Nullable.
	Nullable CellKind = 0x80
)

// base is the kind without Nullable.
func (k CellKind) base() CellKind { return k &^ Nullable }

// variable tells whether the cell holds bytes rather than eight bytes.
func (k CellKind) variable() bool { return k.base() >= AddNumeric }

func (k CellKind) numeric() bool { return k.base() >= AddNumeric && k.base() <= MaxNumeric }

func (k CellKind) float() bool {
	switch k.base() {
	case AddFloat, MinFloat, MaxFloat:
		return true
	}
	return false
}

// Layout lists the cells of every entry of an exchange. It may be empty: the keys alone.
type Layout []CellKind

// MaxCells is the most cells a Layout may have.
const MaxCells = 32

// Shape is a checked Layout with what follows from it. Make one per exchange and share it.
type Shape struct {
	layout   Layout
	combine  bool
	narrow   bool // combined, one fixed cell that is never null: it lives in the slot
	counts   bool // narrow with AddInt, the case worth its own loop
	sums     bool // some cell is AddInt, so that combining can overflow
	nullable bool // a word of presence bits stands before the cells
	words    int  // words of an entry: its cells and the presence bits
	typical  int  // encoded bytes of the cells as accounted, variable bytes apart
	worst    int  // most encoded bytes of the cells, variable bytes apart
}

// NewShape checks a layout. With combine, tuples of equal keys fold into one entry; without, every
// tuple stays an entry of its own, in order of arrival. The error is ErrLayout.
func NewShape(layout Layout, combine bool) (*Shape, error) {
	if len(layout) > MaxCells {
		return nil, fmt.Errorf("%w: %d cells, at most %d", ErrLayout, len(layout), MaxCells)
	}
	s := &Shape{layout: append(Layout(nil), layout...), combine: combine, words: len(layout)}
	for i, kind := range layout {
		if kind.base() < AddInt || kind.base() > Tuple {
			return nil, fmt.Errorf("%w: cell %d has unknown kind %d", ErrLayout, i, kind)
		}
		if kind.base() == Tuple && combine {
			return nil, fmt.Errorf("%w: cell %d is a tuple, which cannot be combined", ErrLayout, i)
		}
		s.nullable = s.nullable || kind&Nullable != 0
		s.sums = s.sums || kind.base() == AddInt
		typical, worst := cellSize(kind)
		s.typical, s.worst = s.typical+typical, s.worst+worst
	}
	if s.nullable {
		bits := presenceBytes(len(layout))
		s.words, s.typical, s.worst = s.words+1, s.typical+bits, s.worst+bits
	}
	s.narrow = combine && len(layout) == 1 && !s.nullable && !layout[0].variable()
	s.counts = s.narrow && layout[0] == AddInt
	return s, nil
}

// Layout is the layout the shape was made of; not to be changed.
func (s *Shape) Layout() Layout { return s.layout }

// Combine tells whether tuples of equal keys fold into one entry.
func (s *Shape) Combine() bool { return s.combine }

// cellSize gives the encoded bytes of a cell without its variable bytes: as accounted, and at most.
func cellSize(kind CellKind) (typical, worst int) {
	switch {
	case kind.variable():
		return 2, 4
	case kind.float():
		return 8, 8
	}
	return 4, 10 // a zigzag varint; four bytes reach 134 million
}

func presenceBytes(cells int) int { return (cells + 7) / 8 }

// firstCell is the index of cell 0 among the words of an entry.
func (s *Shape) firstCell() int {
	if s.nullable {
		return 1
	}
	return 0
}

// present gives the presence bits of an entry's words.
func (s *Shape) present(words []uint64) uint64 {
	if s.nullable {
		return words[0]
	}
	return math.MaxUint64
}

// Cell is one value to be added to an entry.
type Cell struct {
	bits uint64
	text []byte
	null bool
}

// Int is a cell for AddInt, MinInt and MaxInt.
func Int(v int64) Cell { return Cell{bits: uint64(v)} }

// Float is a cell for AddFloat, MinFloat and MaxFloat.
func Float(v float64) Cell { return Cell{bits: floatBits(v)} }

// Bytes is a cell for the text, numeric and tuple kinds. b is copied when the cell is added. Texts
// are not checked again: see CheckText.
func Bytes(b []byte) Cell { return Cell{text: b} }

// Null is an absent value for any Nullable kind: the entry exists, the cell ignores it.
func Null() Cell { return Cell{null: true} }

// floatBits are the bits of v, with one NaN for all, so that equal values have equal bytes.
func floatBits(v float64) uint64 {
	if v != v {
		v = math.NaN()
	}
	return math.Float64bits(v)
}
