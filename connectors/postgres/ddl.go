package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/zeebo/xxh3"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/state"
)

// The schemas of the state: rows, and the views that people query.
const (
	stateSchema = "sr_state"
	viewSchema  = "public"
)

// maxIdentifier is the most bytes a name has in Postgres, which cuts longer ones off silently.
const maxIdentifier = 63

// tableName names the rows of an operator. A name that would be cut off ends in a hash of the whole.
func tableName(topology string, operator runtime.OperatorID) string {
	name := topology + "__" + string(operator)
	if len(name) <= maxIdentifier {
		return name
	}
	hash := fmt.Sprintf("_%08x", uint32(xxh3.HashString(name)))
	return strings.ToValidUTF8(name[:maxIdentifier-len(hash)], "") + hash
}

// createTable is the statement that makes the table. The columns of fixed width stand first, so that
// Postgres finds each at a fixed place. txid is the first of them: a fold evaluates its columns in
// their order, and "behind" must be found before an overflow.
//
// Half of each page stays free, so that a flush of all keys writes each new version beside the old one
// (HOT) and no index grows.
func (l *layout) createTable() string {
	var fixed, variable []string
	add := func(c column, name, constraint string) {
		def := name + " " + c.sqlType() + constraint
		if c.typ == state.Bigint || c.typ == state.Double {
			fixed = append(fixed, def)
			return
		}
		variable = append(variable, def)
	}
	if l.txids {
		add(column{typ: state.Bigint}, "txid", " NOT NULL")
	}
	for _, v := range l.values {
		add(v, v.quoted(), "")
		if l.prevs {
			add(v, v.prev(), "")
		}
	}
	fixed = append(fixed, "bucket integer NOT NULL")
	if l.prevs {
		fixed = append(fixed, quote(prevFound)+" boolean NOT NULL")
	}
	for _, k := range l.keys {
		add(k, k.quoted(), " NOT NULL")
	}
	columns := append(fixed, variable...)
	columns = append(columns, "PRIMARY KEY ("+l.primaryKey("")+")")
	return fmt.Sprintf("CREATE TABLE %s (\n\t%s\n) WITH (fillfactor = 50, %s)", l.name, strings.Join(columns, ",\n\t"), vacuumOften)
}

// vacuumOften: each flush leaves as many dead rows as it wrote. HOT prunes most of them; what it leaves
// must not wait for a fifth of a large table.
const vacuumOften = "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05"

// createView is the statement that makes the view of keys and values.
func (l *layout) createView() string {
	var columns []string
	for _, k := range l.keys {
		columns = append(columns, k.quoted())
	}
	for i, v := range l.def.Values {
		if v.Fold == state.FoldAvg {
			sum, count := avgColumns(i)
			columns = append(columns, fmt.Sprintf("%s / nullif(%s, 0) AS %s", quote(sum), quote(count), quote(v.Name)))
			continue
		}
		columns = append(columns, quote(v.Name))
	}
	return fmt.Sprintf("CREATE VIEW %s AS\nSELECT %s\nFROM %s", pgx.Identifier{viewSchema, l.def.View}.Sanitize(), strings.Join(columns, ", "), l.name)
}
