package exchange

import (
	"bytes"
	"encoding/binary"
)

// slotKey is a key as slots and tuples hold it. Byte 0 is 0 for an empty slot, the key's length + 1
// for a key of up to 15 bytes, which follows, and longMark for a longer one: then bytes 1-2 are its
// length, 3-7 its offset in the bytes beside the slots, 8-15 its hash.
type slotKey [16]byte

const (
	maxInline = 15
	longMark  = 0xFF
)

// slot is one place of the open addressing: 24 bytes, so that a key, its value and most collisions
// cost one cache line.
type slot struct {
	key slotKey
	// cell is the value of a narrow shape, else the index of the entry's first word among the cells.
	cell [1]uint64
}

// tuple is a slot on its way into a table.
type tuple struct {
	key    slotKey
	cell   uint64
	hash   uint64 // set by locate
	bucket int32  // byKey until locate has set it
	home   uint32 // set by locate: where probing begins, as long as its table has not grown
}

func (k *slotKey) long() bool { return k[0] == longMark }

// set puts two words into the key; on little-endian machines these are two stores.
func (k *slotKey) set(lo, hi uint64) {
	binary.LittleEndian.PutUint64(k[:8], lo)
	binary.LittleEndian.PutUint64(k[8:], hi)
}

// words are the two words that set has put. Comparing them is what makes a probe cheap: == on the arrays
// compiles to sixteen byte loads.
func (k *slotKey) words() (lo, hi uint64) {
	return binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:])
}

// setInline puts a key of up to 15 bytes.
func (k *slotKey) setInline(key []byte) {
	lo, hi := load15(viewString(key))
	k.set(uint64(len(key)+1)|lo<<8, lo>>56|hi<<8)
}

// setLong puts a reference to a longer key at src[at : at+n].
func (k *slotKey) setLong(at, n int) {
	k.set(longMark|uint64(n)<<8|uint64(at)<<24, 0)
}

// setHash completes a reference: unequal long keys then rarely need a look at their bytes.
func (k *slotKey) setHash(h uint64) { binary.LittleEndian.PutUint64(k[8:], h) }

// longHash is what setHash has put.
func (k *slotKey) longHash() uint64 { return binary.LittleEndian.Uint64(k[8:]) }

func (k *slotKey) longLen() int { return int(k[1]) | int(k[2])<<8 }

// bytes is a view of the encoded key, in the slot itself or in src.
func (k *slotKey) bytes(src []byte) []byte {
	if !k.long() {
		return k[1:k[0]:k[0]]
	}
	at := int(binary.LittleEndian.Uint64(k[:8]) >> 24)
	return src[at : at+k.longLen() : at+k.longLen()]
}

// equalLong compares two long keys, each with the bytes it refers to.
func (k *slotKey) equalLong(src []byte, o *slotKey, osrc []byte) bool {
	return o.long() && k.longHash() == o.longHash() && bytes.Equal(k.bytes(src), o.bytes(osrc))
}

// load15 loads up to 15 bytes into two little-endian words, zeros behind them. It reads overlapping
// words inside s, and nothing outside.
func load15(s string) (lo, hi uint64) {
	n := len(s)
	switch {
	case n >= 8:
		return load64(s), load64(s[n-8:]) >> (8 * (16 - uint(n)))
	case n >= 4:
		return uint64(load32(s)) | uint64(load32(s[n-4:]))<<(8*(uint(n)-4)), 0
	case n > 0:
		return uint64(s[0]) | uint64(s[n/2])<<(8*uint(n/2)) | uint64(s[n-1])<<(8*uint(n-1)), 0
	}
	return 0, 0
}

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// span is a variable cell: an offset of 40 bits and a length of 24 in the bytes beside it.
func span(at, n int) uint64 { return uint64(at)<<24 | uint64(n) }

// spanOf is the view that a span describes.
func spanOf(word uint64, src []byte) []byte {
	at, n := int(word>>24), int(word&(1<<24-1))
	return src[at : at+n : at+n]
}
