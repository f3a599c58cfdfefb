package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/selfregulating/sr/runtime/state"
)

// column is a stored column of a state table. A key or an aggregate is one, an avg two.
type column struct {
	name string
	typ  state.ColumnType
	fold state.Fold // of a value; an avg is a sum and a count
}

// layout is how a state.Table is stored.
type layout struct {
	def    *state.Table
	name   string // quoted, with its schema
	keys   []column
	values []column
	// txids tells whether rows carry the txid of the batch that wrote them, prevs whether also what
	// stood there before it.
	txids, prevs bool
}

func newLayout(name string, def *state.Table) layout {
	l := layout{
		def:   def,
		name:  pgx.Identifier{stateSchema, name}.Sanitize(),
		txids: def.Kind != state.NonTransactional,
		prevs: def.Kind == state.Opaque,
	}
	for _, k := range def.Keys {
		l.keys = append(l.keys, column{name: k.Name, typ: k.Type})
	}
	for i, v := range def.Values {
		if v.Fold == state.FoldAvg {
			sum, count := avgColumns(i)
			l.values = append(l.values, column{sum, v.Type, state.FoldSum}, column{count, state.Bigint, state.FoldCount})
			continue
		}
		l.values = append(l.values, column{v.Name, v.Type, v.Fold})
	}
	return l
}

// avgColumns names the two columns of the aggregate at index i. A colon cannot be in a user's name, and
// a number keeps them short enough for their prev_ columns.
func avgColumns(i int) (sum, count string) {
	return fmt.Sprintf("avg%d:sum", i+1), fmt.Sprintf("avg%d:count", i+1)
}

const (
	prevPrefix = "prev_"
	// prevFound tells a row that was not there before its batch from one that held nulls.
	prevFound = "prev:found"
)

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func (c column) quoted() string { return quote(c.name) }

func (c column) prev() string { return quote(prevPrefix + c.name) }

// sqlType is the column's type in a table.
func (c column) sqlType() string {
	if c.typ == state.Double {
		return "double precision"
	}
	if c.typ == state.Text {
		return `text COLLATE "C"` // bytewise, as keys are sorted and texts compared everywhere in sr
	}
	return string(c.typ)
}

// wire is the type that values of the column travel in: decimals and JSON as text.
func (c column) wire() (name string, oid uint32) {
	switch c.typ {
	case state.Bigint:
		return "bigint", pgtype.Int8OID
	case state.Double:
		return "double precision", pgtype.Float8OID
	case state.Boolean:
		return "boolean", pgtype.BoolOID
	}
	return "text", pgtype.TextOID
}

// fromWire is the expression that makes a stored value of what travelled.
func (c column) fromWire(expr string) string {
	if c.typ == state.Numeric || c.typ == state.JSONB {
		return expr + "::" + string(c.typ)
	}
	return expr
}

// toWire is the expression that makes what travels of a stored value.
func (c column) toWire(expr string) string {
	if c.typ == state.Numeric || c.typ == state.JSONB {
		return expr + "::text"
	}
	return expr
}

// primaryKey lists the columns of the primary key, as ON CONFLICT and ORDER BY name it.
func (l *layout) primaryKey(prefix string) string {
	names := []string{prefix + "bucket"}
	for _, k := range l.keys {
		names = append(names, prefix+k.quoted())
	}
	return strings.Join(names, ", ")
}
