package postgres

import (
	"fmt"
	"strings"

	"github.com/selfregulating/sr/runtime/mutant"
	"github.com/selfregulating/sr/runtime/state"
)

// foldSQL folds partial aggregates of any number of buckets into the rows, without reading them
// first. Parameters: buckets, txids (if rows carry them), then one array for each key and value column.
//
// The rows are written in the order of the primary key: neighbours share pages, and commits of several
// owners can never wait for each other in a circle.
func (l *layout) foldSQL() string {
	return l.insert(append(l.plainColumns(), l.values...), func(set *assignments) {
		if l.txids {
			set.add(quote("txid"), l.newTxID())
		}
		for _, v := range l.values {
			base := "s." + v.quoted()
			if l.prevs {
				base = l.prevOf(v)
				set.add(v.prev(), l.prevOf(v))
			}
			value := v.folded(base, "excluded."+v.quoted())
			if l.txids && !l.prevs { // a transactional row of this txid already holds the batch
				value = fmt.Sprintf("CASE WHEN s.txid < excluded.txid THEN %s ELSE s.%s END", value, v.quoted())
			}
			set.add(v.quoted(), value)
		}
		if l.prevs {
			set.add(quote(prevFound), fmt.Sprintf("s.txid < excluded.txid OR s.%s", quote(prevFound)))
		}
	})
}

// writeSQL sets whole rows, as a read-modify-write made them. Parameters: as foldSQL, then, for opaque
// rows, one array for each value before and one that tells whether there was a row before.
func (l *layout) writeSQL() string {
	columns := append(l.plainColumns(), l.values...)
	if l.prevs {
		for _, v := range l.values {
			columns = append(columns, column{name: prevPrefix + v.name, typ: v.typ})
		}
		columns = append(columns, column{name: prevFound, typ: state.Boolean})
	}
	return l.insert(columns, func(set *assignments) {
		for _, c := range columns[1+len(l.keys):] {
			value := "excluded." + c.quoted()
			if c.name == "txid" {
				value = l.newTxID()
			}
			set.add(c.quoted(), value)
		}
	})
}

// plainColumns are those that every statement sends, in the order of its parameters.
func (l *layout) plainColumns() []column {
	columns := []column{{name: "bucket"}}
	columns = append(columns, l.keys...)
	if l.txids {
		columns = append(columns, column{name: "txid", typ: state.Bigint})
	}
	return columns
}

// insert is the statement over one array for each column; set says what becomes of a row that exists.
func (l *layout) insert(columns []column, set func(*assignments)) string {
	var names, arrays, values []string
	for i, c := range columns {
		wire, _ := c.wire()
		if c.name == "bucket" {
			wire = "integer"
		}
		alias := fmt.Sprintf("c%d", i)
		names = append(names, c.quoted())
		arrays = append(arrays, fmt.Sprintf("unnest($%d::%s[]) AS %s", i+1, wire, alias))
		values = append(values, c.fromWire("u."+alias))
	}
	if l.prevs && columns[len(columns)-1].name != prevFound { // a new row of a fold has nothing before it
		names, values = append(names, quote(prevFound)), append(values, "false")
	}
	var s assignments
	set(&s)
	return fmt.Sprintf("INSERT INTO %s AS s (%s)\nSELECT %s\nFROM (SELECT %s) AS u\nORDER BY %s\nON CONFLICT (%s) DO UPDATE SET\n\t%s",
		l.name, strings.Join(names, ", "), strings.Join(values, ", "), strings.Join(arrays, ", "),
		l.sortOrder(), l.primaryKey(""), strings.Join(s, ",\n\t"))
}

// sortOrder is the order of the primary key over the values that travelled.
func (l *layout) sortOrder() string {
	terms := []string{"u.c0"}
	for i, k := range l.keys {
		term := k.fromWire(fmt.Sprintf("u.c%d", i+1))
		if k.typ == state.Text {
			term += ` COLLATE "C"`
		}
		terms = append(terms, term)
	}
	return strings.Join(terms, ", ")
}

type assignments []string

func (a *assignments) add(column, value string) { *a = append(*a, column+" = "+value) }

// newTxID refuses a row that a later batch wrote.
func (l *layout) newTxID() string {
	key := []string{"''"}
	for i, k := range l.keys {
		if i > 0 {
			key = append(key, "', '")
		}
		key = append(key, "s."+k.quoted())
	}
	return fmt.Sprintf("CASE WHEN s.txid <= excluded.txid THEN excluded.txid ELSE sr.txid_behind(s.bucket, concat(%s), s.txid, excluded.txid) END",
		strings.Join(key, ", "))
}

// prevOf is the value before this batch: that of the row if an earlier batch wrote it, else what the
// row says was there before.
func (l *layout) prevOf(v column) string {
	if mutant.On("opaqueWithoutPrev") {
		return "s." + v.quoted()
	}
	return fmt.Sprintf("CASE WHEN s.txid < excluded.txid THEN s.%s ELSE s.%s END", v.quoted(), v.prev())
}

// folded is the SQL aggregate of two values of which either may be null: nulls count for nothing.
func (c column) folded(a, b string) string {
	switch c.fold {
	case state.FoldCount:
		return fmt.Sprintf("coalesce(%s, 0) + coalesce(%s, 0)", a, b)
	case state.FoldSum:
		return fmt.Sprintf("coalesce(%s + %s, %s, %s)", a, b, a, b)
	case state.FoldMin:
		return fmt.Sprintf("least(%s, %s)", a, b)
	case state.FoldMax:
		return fmt.Sprintf("greatest(%s, %s)", a, b)
	}
	return b
}
