package exchange

import (
	"encoding/binary"
	"fmt"

	"github.com/selfregulating/sr/runtime"
	"github.com/zeebo/xxh3"
)

// Header opens a block: one Kafka record with what one batch of one writer has for one bucket.
type Header struct {
	// Signature tells which version of the operator wrote the entries. A receiver with another one must stop.
	Signature uint64
	// Writer and Seq name the batch; Prev is the seq of this writer's block before in this bucket, 0 if none.
	Writer    runtime.WriterID
	Seq, Prev runtime.Seq
	// Tuples were folded into Entries; AppendBlock fills in both.
	Tuples  int64
	Entries int
	// EventMin and EventMax bound the event times of the tuples, Ingest is the oldest time at which one
	// entered the source log: milliseconds since 1970, 0 if there is none.
	EventMin, EventMax, Ingest int64
}

// HeaderSize is the size of an encoded Header in bytes.
const HeaderSize = 92

// magic is "srb" and the version of the format.
const magic = "srb\x01"

// Where the fields of a header are, in bytes; little endian. The checksum covers all behind itself.
const (
	atChecksum  = 4
	atSignature = 12
	atWriter    = 20
	atSeq       = 36
	atPrev      = 44
	atTuples    = 52
	atEntries   = 60
	atEventMin  = 68
	atEventMax  = 76
	atIngest    = 84
)

// AppendBlock appends the block of a bucket to dst. h.Tuples and h.Entries are those of the table.
func AppendBlock(dst []byte, h Header, b *BucketTable) []byte {
	h.Tuples, h.Entries = b.tuples, b.count
	start := len(dst)
	dst = appendHeader(dst, &h)
	if b.shape.combine {
		dst = b.appendEntries(dst)
	} else {
		dst = append(dst, b.arena...)
	}
	block := dst[start:]
	binary.LittleEndian.PutUint64(block[atChecksum:], xxh3.Hash(block[atSignature:]))
	return dst
}

func appendHeader(dst []byte, h *Header) []byte {
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint64(dst, 0) // checksum
	dst = binary.LittleEndian.AppendUint64(dst, h.Signature)
	dst = append(dst, h.Writer[:]...)
	for _, v := range [...]int64{
		int64(h.Seq), int64(h.Prev), h.Tuples, int64(h.Entries), h.EventMin, h.EventMax, h.Ingest,
	} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	return dst
}

// ParseBlock checks a block and returns its header and its body, a view of block. Errors: ErrFormat,
// ErrTruncated, ErrChecksum. Whether the signature is the right one is for the caller to say.
func ParseBlock(block []byte) (Header, []byte, error) {
	var h Header
	if len(block) < len(magic) {
		return h, nil, ErrTruncated
	}
	if string(block[:len(magic)]) != magic {
		return h, nil, fmt.Errorf("%w: it begins with %x", ErrFormat, block[:len(magic)])
	}
	if len(block) < HeaderSize {
		return h, nil, ErrTruncated
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(block[at:]) }
	if word(atChecksum) != xxh3.Hash(block[atSignature:]) {
		return h, nil, ErrChecksum
	}
	body := block[HeaderSize:]
	if word(atEntries) > uint64(len(body)) {
		return h, nil, fmt.Errorf("%w: %d entries in %d bytes", ErrTruncated, word(atEntries), len(body))
	}
	h = Header{
		Signature: word(atSignature),
		Seq:       runtime.Seq(word(atSeq)), Prev: runtime.Seq(word(atPrev)),
		Tuples: int64(word(atTuples)), Entries: int(word(atEntries)),
		EventMin: int64(word(atEventMin)), EventMax: int64(word(atEventMax)), Ingest: int64(word(atIngest)),
	}
	copy(h.Writer[:], block[atWriter:])
	return h, body, nil
}
