package exchange

import (
	"encoding/binary"
	"slices"
)

// appendEntries appends the entries of a combined table, in the order of the slots.
func (b *BucketTable) appendEntries(dst []byte) []byte {
	dst = slices.Grow(dst, b.bytes+b.count+blindBytes)
	for i := range b.slots {
		s := &b.slots[i]
		switch {
		case s.key[0] == 0:
		case b.shape.counts && !s.key.long():
			dst = appendCount(dst, s)
		case b.shape.narrow:
			dst = b.shape.appendEntry(dst, s.key.bytes(b.arena), s.cell[:], b.arena)
		default:
			dst = b.shape.appendEntry(dst, s.key.bytes(b.arena), b.cells[s.cell[0]:][:b.shape.words], b.arena)
		}
	}
	return dst
}

// blindBytes is the room that appendCount needs.
const blindBytes = 1 + 16 + binary.MaxVarintLen64

// appendCount appends an entry of an inline key and a sum, the key as two blind stores.
func appendCount(dst []byte, s *slot) []byte {
	at := len(dst)
	if cap(dst)-at < blindBytes {
		dst = slices.Grow(dst, max(blindBytes, cap(dst)/2))
	}
	room := dst[at : at+blindBytes]
	n := s.key[0] - 1
	room[0] = n
	lo, hi := binary.LittleEndian.Uint64(s.key[:8]), binary.LittleEndian.Uint64(s.key[8:])
	binary.LittleEndian.PutUint64(room[1:], lo>>8|hi<<56)
	binary.LittleEndian.PutUint64(room[9:], hi>>8)
	end := 1 + int(n)
	end += binary.PutUvarint(room[end:], zigzag(int64(s.cell[0])))
	return dst[:at+end]
}

// appendEntry appends any entry: uvarint key length, key, presence bits if the layout is nullable, then
// the cells that are present.
func (s *Shape) appendEntry(dst, key []byte, words []uint64, src []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(key)))
	dst = append(dst, key...)
	have, first := s.present(words), s.firstCell()
	if s.nullable {
		for i := range presenceBytes(len(s.layout)) {
			dst = append(dst, byte(have>>(8*i)))
		}
	}
	for i, kind := range s.layout {
		word := words[first+i]
		switch {
		case have&(1<<i) == 0:
		case kind.variable():
			value := spanOf(word, src)
			dst = binary.AppendUvarint(dst, uint64(len(value)))
			dst = append(dst, value...)
		case kind.float():
			dst = binary.LittleEndian.AppendUint64(dst, word)
		default:
			dst = binary.AppendUvarint(dst, zigzag(int64(word)))
		}
	}
	return dst
}

// log appends a tuple to a table that does not combine, already in its encoded form.
func (b *BucketTable) log(t *tuple, words []uint64, src []byte) {
	b.arena = b.shape.appendEntry(b.arena, t.key.bytes(src), words[t.cell:][:b.shape.words], src)
	b.bytes = len(b.arena)
	b.count++
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
