package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// rowArrays are the parameters of a fold or of row writes: one array for each column.
type rowArrays struct {
	buckets, txids array
	keys, values   []array
	prevs          []array
	prevFound      array
	refs           []exchange.Ref
}

func (a *rowArrays) reset(l *layout) {
	a.buckets.reset(pgtype.Int4OID)
	a.txids.reset(pgtype.Int8OID)
	a.prevFound.reset(pgtype.BoolOID)
	a.keys = resetColumns(a.keys, l.keys)
	a.values = resetColumns(a.values, l.values)
	a.prevs = resetColumns(a.prevs, l.values)
}

func resetColumns(arrays []array, columns []column) []array {
	for len(arrays) < len(columns) {
		arrays = append(arrays, array{})
	}
	arrays = arrays[:len(columns)]
	for i, c := range columns {
		_, oid := c.wire()
		arrays[i].reset(oid)
	}
	return arrays
}

// params are the parameters in the order of plainColumns and what follows it.
func (a *rowArrays) params(l *layout, prevs bool) [][]byte {
	ps := [][]byte{a.buckets.param()}
	for i := range a.keys {
		ps = append(ps, a.keys[i].param())
	}
	if l.txids {
		ps = append(ps, a.txids.param())
	}
	for i := range a.values {
		ps = append(ps, a.values[i].param())
	}
	if l.prevs && prevs {
		for i := range a.prevs {
			ps = append(ps, a.prevs[i].param())
		}
		ps = append(ps, a.prevFound.param())
	}
	return ps
}

// addFold appends the entries of one bucket, sorted.
func (a *rowArrays) addFold(l *layout, f *store.Fold) error {
	a.refs = f.Partials.Sorted(a.refs[:0])
	return a.addEntries(l, f, a.refs)
}

func (a *rowArrays) addEntries(l *layout, f *store.Fold, refs []exchange.Ref) error {
	var e exchange.Entry
	for _, ref := range refs {
		f.Partials.Load(ref, &e)
		a.addHead(l, f.Bucket, f.TxID)
		if err := a.addKey(l, e.Key); err != nil {
			return err
		}
		for i := range l.values {
			addCell(&a.values[i], &l.values[i], &e, i)
		}
	}
	return nil
}

func (a *rowArrays) addHead(l *layout, b runtime.Bucket, t runtime.TxID) {
	a.buckets.int4(b)
	if l.txids {
		a.txids.int8(int64(t))
	}
}

func (a *rowArrays) addKey(l *layout, key []byte) error {
	rest := key
	for i := range l.keys {
		f, tail, err := exchange.NextField(rest)
		if err != nil || f.Kind != kindOf(l.keys[i].typ) {
			return l.wrongKey(key)
		}
		switch f.Kind {
		case exchange.Text:
			a.keys[i].bytes(f.Text())
		case exchange.Bigint:
			a.keys[i].int8(f.Int())
		case exchange.Double:
			a.keys[i].float8(f.Float())
		case exchange.Boolean:
			a.keys[i].bool(f.Bool())
		}
		rest = tail
	}
	if len(rest) > 0 {
		return l.wrongKey(key)
	}
	return nil
}

// kindOf is how a key column of a type is encoded: a decimal travels as its canonical text.
func kindOf(t state.ColumnType) exchange.FieldKind {
	switch t {
	case state.Bigint:
		return exchange.Bigint
	case state.Double:
		return exchange.Double
	case state.Boolean:
		return exchange.Boolean
	}
	return exchange.Text
}

func (l *layout) wrongKey(key []byte) error {
	return fmt.Errorf("the key %s does not have the columns of %s: its blocks were made by another version of the operator",
		exchange.FormatKey(key), l.name)
}

func addCell(a *array, c *column, e *exchange.Entry, i int) {
	switch {
	case e.Null(i):
		a.null()
	case c.typ == state.Bigint:
		a.int8(e.Int(i))
	case c.typ == state.Double:
		a.float8(e.Float(i))
	default:
		a.bytes(e.Bytes(i))
	}
}
