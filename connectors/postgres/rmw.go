package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// addRows appends w.Keys[from:to] and their rows.
func (a *rowArrays) addRows(l *layout, w *store.RowWrite, from, to int) error {
	for k := from; k < to; k++ {
		if err := a.addRow(l, w.Bucket, w.Keys[k], &w.Rows[k]); err != nil {
			return err
		}
	}
	return nil
}

func (a *rowArrays) addRow(l *layout, b runtime.Bucket, key []byte, row *store.Row) error {
	a.addHead(l, b, row.TxID)
	if err := a.addKey(l, key); err != nil {
		return err
	}
	if err := addValues(a.values, l, row.Value); err != nil {
		return err
	}
	if !l.prevs {
		return nil
	}
	a.prevFound.bool(row.PrevFound)
	return addValues(a.prevs, l, row.Prev)
}

// addValues adds one value to each array; no values at all are nulls.
func addValues(arrays []array, l *layout, values []any) error {
	if values != nil && len(values) != len(arrays) {
		return fmt.Errorf("a row of %s has %d values where its table has %d columns", l.name, len(values), len(arrays))
	}
	for i := range arrays {
		a := &arrays[i]
		if values == nil {
			a.null()
			continue
		}
		switch v := values[i].(type) {
		case nil:
			a.null()
		case int64:
			if l.values[i].typ != state.Bigint {
				return l.wrongValue(i, v)
			}
			a.int8(v)
		case float64:
			if l.values[i].typ != state.Double {
				return l.wrongValue(i, v)
			}
			a.float8(v)
		case string:
			if l.values[i].typ == state.Bigint || l.values[i].typ == state.Double {
				return l.wrongValue(i, v)
			}
			a.text(v)
		default:
			return l.wrongValue(i, v)
		}
	}
	return nil
}

func (l *layout) wrongValue(i int, v any) error {
	return fmt.Errorf("a %T cannot be stored in column %s of %s, which is %s", v, l.values[i].name, l.name, l.values[i].typ)
}

// readSQL reads rows by key, in the order asked for. Parameters: the bucket, their ordinals, one
// array for each key column. The subselect cannot be flattened (OFFSET 0), so that each key is looked up in
// the primary key: a join could be planned as a scan of the whole table.
func (l *layout) readSQL() string {
	columns := []string{"s.bucket IS NOT NULL"}
	if l.txids {
		columns = append(columns, "s.txid")
	}
	for _, v := range l.values {
		columns = append(columns, v.toWire("s."+v.quoted()))
	}
	if l.prevs {
		columns = append(columns, "s."+quote(prevFound))
		for _, v := range l.values {
			columns = append(columns, v.toWire("s."+v.prev()))
		}
	}
	arrays, aliases, where := []string{"$2::integer[]"}, []string{"n"}, []string{"bucket = $1"}
	for i, k := range l.keys {
		wire, _ := k.wire()
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+3, wire))
		aliases = append(aliases, fmt.Sprintf("c%d", i))
		where = append(where, fmt.Sprintf("%s = %s", k.quoted(), k.fromWire(fmt.Sprintf("u.c%d", i))))
	}
	return fmt.Sprintf("SELECT %s\nFROM unnest(%s) AS u(%s)\nLEFT JOIN LATERAL (SELECT * FROM %s WHERE %s OFFSET 0) s ON true\nORDER BY u.n",
		strings.Join(columns, ", "), strings.Join(arrays, ", "), strings.Join(aliases, ", "), l.name, strings.Join(where, " AND "))
}

// ReadRows reads state rows of one bucket; see store.Store.
func (s *Store) ReadRows(ctx context.Context, def *state.Table, bucket runtime.Bucket, keys [][]byte) ([]store.Row, error) {
	t, err := s.table(def)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	params, err := t.readParams(bucket, keys)
	if err != nil {
		return nil, err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, s.explain("reading rows of "+t.name, err)
	}
	defer conn.Release()
	prepared, err := conn.Conn().Prepare(ctx, t.read, t.read)
	if err != nil {
		return nil, s.explain("reading rows of "+t.name, err)
	}
	result := conn.Conn().PgConn().ExecPrepared(ctx, prepared.Name, params, binaryFormat, binaryFormat)
	rows := make([]store.Row, 0, len(keys))
	for result.NextRow() {
		rows = append(rows, t.parseRow(result.Values()))
	}
	if _, err := result.Close(); err != nil {
		return nil, s.explain("reading rows of "+t.name, err)
	}
	return rows, nil
}

func (l *layout) readParams(bucket runtime.Bucket, keys [][]byte) ([][]byte, error) {
	var a rowArrays
	a.reset(l)
	var ordinals array
	ordinals.reset(pgtype.Int4OID)
	for i, key := range keys {
		ordinals.int4(int32(i))
		if err := a.addKey(l, key); err != nil {
			return nil, err
		}
	}
	params := [][]byte{int4Param(bucket), ordinals.param()}
	for i := range a.keys {
		params = append(params, a.keys[i].param())
	}
	return params, nil
}

func (l *layout) parseRow(columns [][]byte) (row store.Row) {
	if row.Found = columns[0][0] == 1; !row.Found {
		return row
	}
	columns = columns[1:]
	if l.txids {
		row.TxID = runtime.TxID(binary.BigEndian.Uint64(columns[0]))
		columns = columns[1:]
	}
	row.Value = l.parseValues(columns)
	if l.prevs {
		columns = columns[len(l.values):]
		if row.PrevFound = columns[0][0] == 1; row.PrevFound {
			row.Prev = l.parseValues(columns[1:])
		}
	}
	return row
}

func (l *layout) parseValues(columns [][]byte) []any {
	values := make([]any, len(l.values))
	for i, c := range l.values {
		switch {
		case columns[i] == nil:
		case c.typ == state.Bigint:
			values[i] = int64(binary.BigEndian.Uint64(columns[i]))
		case c.typ == state.Double:
			values[i] = math.Float64frombits(binary.BigEndian.Uint64(columns[i]))
		default:
			values[i] = string(columns[i])
		}
	}
	return values
}

// parseUUIDs reads a uuid[] in binary format.
func parseUUIDs[T ~[16]byte](b []byte) ([]T, error) {
	var all []T
	if len(b) <= arrayHeader {
		return nil, nil
	}
	for rest := b[arrayHeader:]; len(rest) > 0; rest = rest[20:] {
		if len(rest) < 20 || !bytes.HasPrefix(rest, []byte{0, 0, 0, 16}) {
			return nil, fmt.Errorf("malformed array of uuids: %x", b)
		}
		all = append(all, T(rest[4:20]))
	}
	return all, nil
}
