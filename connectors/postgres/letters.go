package postgres

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/store"
)

const insertLetters = `
INSERT INTO sr.dead_letter (topology, input_operator, input_partition, txid, n, operator, topic, partition, "offset",
	attempts, error, key, payload, record_time)
SELECT $1, x.input_operator, x.input_partition, x.txid, x.n + coalesce((
		SELECT max(d.n) + 1 FROM sr.dead_letter d
		WHERE d.topology = $1 AND d.input_operator = x.input_operator AND d.input_partition = x.input_partition AND d.txid = x.txid), 0),
	x.operator, x.topic, x.partition, x."offset", x.attempts, x.error, x.key, x.payload, x.record_time
FROM unnest($2::text[], $3::integer[], $4::bigint[], $5::integer[], $6::text[], $7::text[], $8::integer[],
	$9::bigint[], $10::integer[], $11::text[], $12::bytea[], $13::bytea[], $14::timestamptz[])
	AS x(input_operator, input_partition, txid, n, operator, topic, partition, "offset", attempts, error, key, payload, record_time)`

// lettersStatement writes dead letters, numbered within their batch. A batch may write some in each of
// two commits (spouts that promise less than exactly once), and again when it is replayed.
func lettersStatement(topology []byte, letters []store.DeadLetter) statement {
	oids := []uint32{
		pgtype.TextOID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Int4OID, pgtype.TextOID, pgtype.TextOID, pgtype.Int4OID,
		pgtype.Int8OID, pgtype.Int4OID, pgtype.TextOID, pgtype.ByteaOID, pgtype.ByteaOID, pgtype.TimestamptzOID,
	}
	a := make([]array, len(oids))
	for i, oid := range oids {
		a[i].reset(oid)
	}
	numbers := make(map[runtime.Input]int32)
	for i := range letters {
		d := &letters[i]
		addLetter(a, d, numbers[d.Input])
		numbers[d.Input]++
	}
	params := [][]byte{topology}
	for i := range a {
		params = append(params, a[i].param())
	}
	return statement{sql: insertLetters, params: params}
}

func addLetter(a []array, d *store.DeadLetter, n int32) {
	a[0].text(string(d.Input.Operator))
	a[1].int4(d.Input.Partition)
	a[2].int8(int64(d.TxID))
	a[3].int4(n)
	a[4].text(string(d.Operator))
	// An entry of a fold stands for many records and has no place of its own.
	if d.Topic == "" {
		a[5].null()
	} else {
		a[5].text(storable(d.Topic))
	}
	if d.Partition < 0 {
		a[6].null()
	} else {
		a[6].int4(d.Partition)
	}
	if d.Offset < 0 {
		a[7].null()
	} else {
		a[7].int8(d.Offset)
	}
	a[8].int4(int32(d.Attempts))
	a[9].text(storable(d.Error))
	addBytes(&a[10], d.Key)
	addBytes(&a[11], d.Payload)
	if d.Timestamp == 0 || d.Timestamp < year1 || d.Timestamp > year9999 {
		a[12].null()
	} else {
		a[12].int8((d.Timestamp - year2000) * 1000)
	}
}

// Times in milliseconds since 1970: between which a record's time is believed, and where a timestamptz
// in binary format counts from.
var (
	year1    = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	year9999 = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	year2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
)

func addBytes(a *array, b []byte) {
	if b == nil {
		a.null()
		return
	}
	a.bytes(b)
}

// storable makes a text that Postgres takes: a letter about bad bytes must not fail for bad bytes.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
