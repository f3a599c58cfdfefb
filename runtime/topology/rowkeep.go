package topology

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/selfregulating/sr/runtime/state"
)

// keep makes an operator that keeps aggregates of grouped rows.
func (c *compiler) keep(o *operatorEntry, in *rows) *rows {
	keys, ok := c.keys(o, in)
	aggregates, whole := c.aggregates(o, in)
	if !ok || !whole {
		return nil
	}
	keep(o.at, Grouped[Row]{stream: in.stream, keys: keys}, o.name, o.state, aggregates)
	return &rows{isState: true}
}

func (c *compiler) keys(o *operatorEntry, in *rows) (keys []Key[Row], ok bool) {
	ok = o.groupByAt == nil || len(o.groupBy) > 0
	for _, n := range o.groupBy {
		i := in.schema.find(n.Value)
		switch {
		case i < 0:
			c.add(where(n), "there is no field %s to group by%s (fields: %s)", clip(n.Value), didYouMean(n.Value, in.schema.names()), fieldWords(in.schema))
			ok = false
		case in.schema[i].Type == state.Numeric:
			c.add(where(n), "%s is numeric, where 1.0 and 1.00 are one number with two spellings; group by int() or string() of it, made by a map before", n.Value)
			ok = false
		default:
			keys = append(keys, keyOfField(in.schema[i], i))
		}
	}
	return keys, ok
}

func keyOfField(f state.Column, i int) Key[Row] {
	e := &expression{kind: f.Type, field: i}
	switch f.Type {
	case state.Bigint:
		return by(f.Name, true, e.ints)
	case state.Double:
		return by(f.Name, true, e.floats)
	case state.Boolean:
		return by(f.Name, true, e.bools)
	}
	return by(f.Name, true, e.texts)
}

// aggregateFolds are the functions of persistentAggregate.
var aggregateFolds = []string{string(state.FoldCount), string(state.FoldSum), string(state.FoldMin), string(state.FoldMax), string(state.FoldAvg)}

func (c *compiler) aggregates(o *operatorEntry, in *rows) (aggregates []Aggregate[Row], whole bool) {
	whole = true
	entries := c.entries(o.aggregates, "persistentAggregate")
	for _, entry := range entries {
		a, ok := c.aggregate(entry, in)
		if whole = whole && ok; ok {
			aggregates = append(aggregates, a)
		}
	}
	if len(entries) == 0 && o.aggregates.Kind == yaml.MappingNode {
		c.add(where(o.aggregates), "persistentAggregate keeps nothing; name at least one column, like count: count()")
		whole = false
	}
	return aggregates, whole
}

// aggregate reads one column: count(), or sum, min, max or avg of an expression.
func (c *compiler) aggregate(entry entry, in *rows) (a Aggregate[Row], ok bool) {
	column := entry.key.Value
	c.fieldName(entry.key)
	source, ok := c.scalar(entry.value, "the aggregate "+clip(column))
	if !ok {
		return a, false
	}
	f, isCall := parseCall(source)
	switch {
	case !isCall || !slices.Contains(aggregateFolds, f.name):
		c.add(where(entry.value), "%s is %q; it must be count(), sum(x), min(x), max(x) or avg(x)%s", clip(column), clip(source), didYouMean(f.name, aggregateFolds))
		return a, false
	case f.name == "count" && len(f.arguments) == 0:
		return Count[Row](column), true
	case f.name == "count":
		c.add(where(entry.value), "count() counts rows and takes no argument; to count some of them use sum(condition ? 1 : 0)")
		return a, false
	case len(f.arguments) != 1:
		c.add(where(entry.value), "%s takes one argument, not %d", f.name, len(f.arguments))
		return a, false
	}
	e := c.argument(entry.value, column, f.arguments[0], in.schema)
	if e == nil {
		return a, false
	}
	fold := state.Fold(f.name)
	if _, fits := cellKinds[fold][e.kind]; !fits && !(fold == state.FoldAvg && e.kind == state.Bigint) {
		c.add(where(entry.value), "%s of a %s does not exist; it takes %s", f.name, e.kind, takes(fold))
		return a, false
	}
	return rowFold(column, fold, e), true
}

func takes(f state.Fold) string {
	if f == state.FoldMin || f == state.FoldMax {
		return "bigint, double, numeric or text"
	}
	return "bigint, double or numeric"
}

func rowFold(column string, f state.Fold, e *expression) Aggregate[Row] {
	piece := e.field >= 0
	switch e.kind {
	case state.Bigint:
		return fold(column, f, piece, e.ints)
	case state.Double:
		return fold(column, f, piece, e.floats)
	case state.Numeric:
		return fold(column, f, piece, e.decimals)
	}
	return fold(column, f, piece, e.texts)
}

// The typed functions of an expression, for one instance.

func (e *expression) ints() func(Row) (int64, error)     { return typed(e, Value.Int) }
func (e *expression) floats() func(Row) (float64, error) { return typed(e, Value.Float) }
func (e *expression) bools() func(Row) (bool, error)     { return typed(e, Value.Bool) }
func (e *expression) texts() func(Row) (string, error)   { return typed(e, Value.Text) }
func (e *expression) decimals() func(Row) (Numeric, error) {
	return typed(e, func(v Value) Numeric { return Numeric(v.text) })
}

func typed[V any](e *expression, of func(Value) V) func(Row) (V, error) {
	if e.field >= 0 {
		return func(row Row) (V, error) { return of(row[e.field]), nil }
	}
	evaluate := e.evaluator()
	return func(row Row) (V, error) {
		v, err := evaluate(row)
		return of(v), err
	}
}
