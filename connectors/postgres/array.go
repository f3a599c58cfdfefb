package postgres

import (
	"encoding/binary"
	"math"

	"github.com/jackc/pgx/v5/pgtype"
)

// array is a one-dimensional array in Postgres's binary format, built value by value. A commit carries
// hundreds of thousands of values, so none of them goes through an interface.
type array struct {
	buf   []byte
	count uint32
	nulls bool
}

// arrayHeader is the size of what stands before the values: dimensions, whether there are nulls, the
// type of the values, their number, the lower bound.
const arrayHeader = 20

// reset empties the array and keeps its memory.
func (a *array) reset(oid uint32) {
	a.buf = append(a.buf[:0], make([]byte, arrayHeader)...)
	binary.BigEndian.PutUint32(a.buf[8:], oid)
	a.count, a.nulls = 0, false
}

// param completes the header and returns the parameter; it is valid until reset.
func (a *array) param() []byte {
	if a.count == 0 {
		return a.buf[:12] // no dimension
	}
	binary.BigEndian.PutUint32(a.buf, 1)
	if a.nulls {
		a.buf[7] = 1
	}
	binary.BigEndian.PutUint32(a.buf[12:], a.count)
	binary.BigEndian.PutUint32(a.buf[16:], 1)
	return a.buf
}

func (a *array) null() {
	a.count++
	a.nulls = true
	a.buf = append(a.buf, 0xFF, 0xFF, 0xFF, 0xFF)
}

func (a *array) int4(v int32) {
	a.count++
	a.buf = append(a.buf, 0, 0, 0, 4, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

func (a *array) int8(v int64) {
	a.count++
	a.buf = append(a.buf, 0, 0, 0, 8)
	a.buf = binary.BigEndian.AppendUint64(a.buf, uint64(v))
}

func (a *array) float8(v float64) {
	a.int8(int64(math.Float64bits(v)))
}

func (a *array) bool(v bool) {
	a.count++
	a.buf = append(a.buf, 0, 0, 0, 1, 0)
	if v {
		a.buf[len(a.buf)-1] = 1
	}
}

// bytes adds a text or a bytea.
func (a *array) bytes(v []byte) {
	a.count++
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(len(v)))
	a.buf = append(a.buf, v...)
}

func (a *array) text(v string) {
	a.count++
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(len(v)))
	a.buf = append(a.buf, v...)
}

// uuid adds an id; the zero one is null.
func (a *array) uuid(v [16]byte) {
	if v == ([16]byte{}) {
		a.null()
		return
	}
	a.bytes(v[:])
}

// The scalars, as parameters in binary format.

func int8Param(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

func int4Param(v int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

// uuidArg is a parameter for pgx; the zero id is null.
func uuidArg(v [16]byte) pgtype.UUID { return pgtype.UUID{Bytes: v, Valid: v != [16]byte{}} }

func uuidArgs[T ~[16]byte](ids []T) []pgtype.UUID {
	args := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		args[i] = uuidArg(id)
	}
	return args
}
