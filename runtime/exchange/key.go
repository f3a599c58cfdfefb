package exchange

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// MaxKey is the most bytes an encoded key may have: a btree entry of Postgres takes about 2,700.
const MaxKey = 2600

// FieldKind is the tag byte of a key field. The numbers are part of the encoding: never change one.
type FieldKind uint8

// The kinds of key fields, in the order in which CompareKeys sorts fields of different kinds.
const (
	Text    FieldKind = 1 // uvarint length, bytes
	Bigint  FieldKind = 2 // 8 bytes, big endian, sign bit flipped
	Double  FieldKind = 3 // 8 bytes, big endian, flipped so that bytes order as Postgres orders doubles
	Boolean FieldKind = 4 // one byte, 0 or 1
)

// AppendText appends a text field. It does not check s: CheckText does, once per input record.
func AppendText(dst []byte, s string) []byte {
	dst = append(dst, byte(Text))
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// AppendInt appends a bigint field.
func AppendInt(dst []byte, v int64) []byte {
	dst = append(dst, byte(Bigint))
	return binary.BigEndian.AppendUint64(dst, uint64(v)^signBit)
}

// AppendFloat appends a double field. All NaNs are one key, the greatest; -0 and 0 are one key.
func AppendFloat(dst []byte, v float64) []byte {
	dst = append(dst, byte(Double))
	return binary.BigEndian.AppendUint64(dst, floatOrder(v+0)) // -0 + 0 is 0
}

// AppendBool appends a boolean field.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, byte(Boolean), 1)
	}
	return append(dst, byte(Boolean), 0)
}

// CheckText tells whether Postgres can store s: ErrKeyNUL or ErrKeyUTF8 if not. Pieces of a checked
// text that were cut at ASCII characters need no check of their own.
func CheckText(s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return ErrKeyNUL
	}
	if !utf8.ValidString(s) {
		return ErrKeyUTF8
	}
	return nil
}

// Field is one decoded field of a key.
type Field struct {
	// Kind tells which accessor is meant.
	Kind FieldKind
	text []byte
	bits uint64
}

// Text is the content of a text field: a view of the key, to be copied if kept.
func (f Field) Text() []byte { return f.text }

// Int is the value of a bigint field.
func (f Field) Int() int64 { return int64(f.bits ^ signBit) }

// Float is the value of a double field.
func (f Field) Float() float64 { return floatOf(f.bits) }

// Bool is the value of a boolean field.
func (f Field) Bool() bool { return f.bits != 0 }

// NextField decodes the first field of an encoded key and returns the rest of the key. It refuses
// (ErrKeyFormat) what no Append function writes, so that equal keys have equal bytes.
func NextField(key []byte) (f Field, rest []byte, err error) {
	if len(key) == 0 {
		return Field{}, nil, ErrKeyFormat
	}
	f.Kind, rest = FieldKind(key[0]), key[1:]
	switch f.Kind {
	case Text:
		f.text, rest, err = cutText(rest)
		return f, rest, err
	case Bigint, Double:
		if len(rest) < 8 {
			return Field{}, nil, ErrKeyFormat
		}
		f.bits = binary.BigEndian.Uint64(rest)
		if f.Kind == Double && !canonicalOrder(f.bits) {
			return Field{}, nil, ErrKeyFormat
		}
		return f, rest[8:], nil
	case Boolean:
		if len(rest) < 1 || rest[0] > 1 {
			return Field{}, nil, ErrKeyFormat
		}
		f.bits = uint64(rest[0])
		return f, rest[1:], nil
	}
	return Field{}, nil, ErrKeyFormat
}

func cutText(b []byte) (text, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) || (size > 1 && b[size-1] == 0) {
		return nil, nil, ErrKeyFormat
	}
	return b[size : size+int(n) : size+int(n)], b[size+int(n):], nil
}

// FormatKey writes a key for people: ("word", 7, true).
func FormatKey(key []byte) string {
	var b strings.Builder
	b.WriteByte('(')
	for i := 0; len(key) > 0; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		f, rest, err := NextField(key)
		if err != nil {
			fmt.Fprintf(&b, "malformed %x", key)
			break
		}
		b.WriteString(f.String())
		key = rest
	}
	b.WriteByte(')')
	return b.String()
}

// String writes the value as FormatKey does.
func (f Field) String() string {
	switch f.Kind {
	case Text:
		return fmt.Sprintf("%q", f.text)
	case Bigint:
		return fmt.Sprint(f.Int())
	case Double:
		return fmt.Sprint(f.Float())
	case Boolean:
		return fmt.Sprint(f.Bool())
	}
	return "unknown kind"
}

const signBit = 1 << 63

// floatOrder maps a float to bits that order, as unsigned numbers, as Postgres orders doubles: every
// NaN equal and above +Inf. It keeps -0 below 0.
func floatOrder(v float64) uint64 {
	if v != v {
		v = math.NaN()
	}
	bits := math.Float64bits(v)
	if bits&signBit != 0 {
		return ^bits
	}
	return bits | signBit
}

// floatOf undoes floatOrder.
func floatOf(order uint64) float64 {
	if order&signBit != 0 {
		return math.Float64frombits(order &^ signBit)
	}
	return math.Float64frombits(^order)
}

// canonicalOrder tells whether AppendFloat can have written these bits.
func canonicalOrder(order uint64) bool {
	return order == floatOrder(floatOf(order)+0)
}
