package exchange

import "errors"

// Errors of keys and values: the record they come from belongs into the dead letters.
var (
	// ErrKeyNUL tells of a text with a NUL character, which Postgres cannot store.
	ErrKeyNUL = errors.New("text holds a NUL character, which Postgres cannot store; remove it at the source")
	// ErrKeyUTF8 tells of a text that is not UTF-8.
	ErrKeyUTF8 = errors.New("text is not valid UTF-8; re-encode it at the source")
	// ErrKeyTooLong tells of a key above MaxKey encoded bytes.
	ErrKeyTooLong = errors.New("key is longer than 2600 encoded bytes, the most a Postgres index takes; group by something shorter")
	// ErrOverflow tells that an integer sum would leave the range of int64.
	ErrOverflow = errors.New("sum leaves the range of a 64-bit integer; use a numeric sum")
	// ErrNumeric tells of a text that is not a finite decimal of at most MaxDigits digits on either side of the point.
	ErrNumeric = errors.New("not a finite decimal number of at most 1000 digits on either side of the point")
	// ErrRecordTooLarge tells that one record alone gives a bucket more than a block may hold.
	ErrRecordTooLarge = errors.New("one record gives a bucket more than 8 MiB of output; split the record at the source")
)

// ErrBatchFull tells that a record does not fit beside what the table holds: cut the batch, then add
// the record again. Nothing of it stays in the table.
var ErrBatchFull = errors.New("record does not fit into the batch; cut the batch and add it again")

// Errors of blocks and encoded keys. They stop the bucket: no input of a user can cause them.
var (
	// ErrFormat tells of a block that this version of sr cannot read.
	ErrFormat = errors.New("unknown block format; the writer runs another version of sr")
	// ErrChecksum tells of a block whose bytes changed on the way.
	ErrChecksum = errors.New("block checksum does not match; the record was damaged after it was written")
	// ErrTruncated tells of a block that ends too early or too late for the entries it announces.
	ErrTruncated = errors.New("block does not end where its last entry ends")
	// ErrEntry tells of an entry that no encoder writes.
	ErrEntry = errors.New("malformed entry in block")
	// ErrKeyFormat tells of bytes that are not an encoded key.
	ErrKeyFormat = errors.New("malformed key encoding")
)

// ErrLayout tells of a Layout that no table can hold.
var ErrLayout = errors.New("impossible cell layout")
