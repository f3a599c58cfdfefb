package exchange

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// CompareKeys orders encoded keys by the values of their fields, first field first: text bytewise
// (COLLATE "C"), numbers as numbers, NaN above all, false before true. That is the order of the
// Postgres primary key, and not that of the encoded bytes, where a length stands before each text.
// The order is total on any bytes: shorter lists first, malformed keys last.
func CompareKeys(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		f, restA, errA := NextField(a)
		g, restB, errB := NextField(b)
		switch {
		case errA != nil && errB != nil:
			return bytes.Compare(a, b)
		case errA != nil:
			return 1
		case errB != nil:
			return -1
		}
		if c := compareFields(f, g); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Compare(len(a), len(b))
}

func compareFields(f, g Field) int {
	if f.Kind != g.Kind {
		return cmp.Compare(f.Kind, g.Kind)
	}
	if f.Kind == Text {
		return bytes.Compare(f.text, g.text)
	}
	return cmp.Compare(f.bits, g.bits)
}

// keyPrefix gives 64 bits with keyPrefix(a) < keyPrefix(b) only if a sorts before b: three bits for
// the kind of the first field, the rest for the beginning of its value. Equal prefixes decide nothing.
func keyPrefix(key []byte) uint64 {
	if len(key) == 0 {
		return 0
	}
	f, _, err := NextField(key)
	if err != nil {
		return 7 << 61
	}
	value := f.bits
	switch f.Kind {
	case Text:
		value = textPrefix(f.text)
	case Boolean:
		value <<= 63
	}
	return uint64(f.Kind)<<61 | value>>3
}

func textPrefix(text []byte) uint64 {
	if len(text) >= 8 {
		return binary.BigEndian.Uint64(text)
	}
	var prefix uint64
	for i, c := range text {
		prefix |= uint64(c) << (56 - 8*i)
	}
	return prefix
}
