package topology

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/selfregulating/sr/runtime/state"
)

// filter lets rows through that an expression is true of.
func (c *compiler) filter(o *operatorEntry, in *rows) *rows {
	e := c.expression(o.filter, "filter", in.schema)
	if e == nil {
		return nil
	}
	if e.kind != state.Boolean {
		c.add(where(o.filter), "filter is %s; it must be true or false, like amount > 0", e.kind)
		return nil
	}
	stream := attach(o.at, in.stream, o.name, in.stream.checked, func(emit func(Row) error) func(Row) error {
		keep := e.evaluator()
		return func(row Row) error {
			v, err := keep(row)
			if err != nil {
				return fmt.Errorf("%s: %w", o.name, err)
			}
			if !v.Bool() {
				return nil
			}
			return emit(row)
		}
	})
	return &rows{stream: stream, schema: in.schema}
}

// project makes rows of other fields, each by an expression.
func (c *compiler) project(o *operatorEntry, in *rows) *rows {
	var made schema
	var fields []*expression
	checked, whole := in.stream.checked, true
	for _, entry := range c.entries(o.maps, "map") {
		c.fieldName(entry.key)
		e := c.expression(entry.value, "map "+clip(entry.key.Value), in.schema)
		if e == nil {
			whole = false
			continue
		}
		checked = checked && (e.field >= 0 || e.kind != state.Text)
		made = append(made, state.Column{Name: entry.key.Value, Type: e.kind})
		fields = append(fields, e)
	}
	switch {
	case !whole:
		return nil
	case len(fields) == 0 || len(fields) > maxFields:
		c.add(where(o.maps), "map makes %d fields; it must make from 1 to %d", len(fields), maxFields)
		return nil
	}
	stream := attach(o.at, in.stream, o.name, checked, func(emit func(Row) error) func(Row) error {
		return projector(o.name, fields, emit)
	})
	return &rows{stream: stream, schema: made}
}

func projector(name string, fields []*expression, emit func(Row) error) func(Row) error {
	evaluate := make([]func(Row) (Value, error), len(fields))
	for i, e := range fields {
		evaluate[i] = e.evaluator()
	}
	made := make(Row, len(fields))
	return func(row Row) (err error) {
		for i, f := range evaluate {
			if made[i], err = f(row); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return emit(made)
	}
}

// flatMap makes a row of each word of a text; the other fields stay.
func (c *compiler) flatMap(o *operatorEntry, in *rows) *rows {
	text, separator, ok := c.split(o, in)
	if !ok {
		return nil
	}
	at, made := in.schema.find(o.as.Value), append(schema(nil), in.schema...)
	if word := (state.Column{Name: o.as.Value, Type: state.Text}); at >= 0 {
		made[at] = word
	} else {
		at, made = len(made), append(made, word)
	}
	checked := in.stream.checked && text.field >= 0
	stream := attach(o.at, in.stream, o.name, checked, func(emit func(Row) error) func(Row) error {
		return rowSplitter(o.name, text, separator, at, len(made), emit)
	})
	return &rows{stream: stream, schema: made}
}

func rowSplitter(name string, text *expression, separator string, at, width int, emit func(Row) error) func(Row) error {
	made := make(Row, width)
	split := splitter(separator, func(word string) error {
		made[at].text = word
		return emit(made)
	})
	evaluate := text.evaluator()
	return func(row Row) error {
		v, err := evaluate(row)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		copy(made, row)
		made[at] = Value{}
		return split(v.text)
	}
}

// split reads split(text, "separator") and as.
func (c *compiler) split(o *operatorEntry, in *rows) (text *expression, separator string, ok bool) {
	source, ok := c.scalar(o.flatMap, "flatMap")
	if !ok {
		return nil, "", false
	}
	if o.as == nil {
		c.add(o.at, "operator %s: as is missing; name the field that flatMap makes", clip(o.name))
		return nil, "", false
	}
	if _, ok := c.scalar(o.as, "as"); !ok {
		return nil, "", false
	}
	c.fieldName(o.as)
	f, isCall := parseCall(source)
	if !isCall || f.name != "split" || len(f.arguments) != 2 {
		c.add(where(o.flatMap), `flatMap is %q; it must be split(text, "separator"), which makes a row of each word`, clip(source))
		return nil, "", false
	}
	text = c.argument(o.flatMap, "flatMap", f.arguments[0], in.schema)
	constant := c.argument(o.flatMap, "the separator of flatMap", f.arguments[1], nil)
	if text == nil || constant == nil {
		return nil, "", false
	}
	if text.kind != state.Text {
		c.add(where(o.flatMap), "split takes a text, but its first argument is %s; convert it with string()", text.kind)
		return nil, "", false
	}
	v, err := constant.evaluator()(nil)
	if err != nil || constant.kind != state.Text || v.text == "" {
		c.add(where(o.flatMap), `the separator of split must be a text that is not empty, like " "`)
		return nil, "", false
	}
	return text, v.text, true
}

// expression compiles the expression in a node.
func (c *compiler) expression(n *yaml.Node, what string, s schema) *expression {
	source, ok := c.scalar(n, what)
	if !ok {
		return nil
	}
	return c.argument(n, what, argument{source, 0}, s)
}

// argument compiles a part of the text in a node.
func (c *compiler) argument(n *yaml.Node, what string, a argument, s schema) *expression {
	e, err := compileExpression(a.text, s)
	if err == nil {
		return e
	}
	at := 0
	var wrong *expressionError
	if errors.As(err, &wrong) {
		at = wrong.at
	}
	c.add(c.within(n, a.at+at), "%s: %v (at character %d of the expression)", what, err, a.at+at+1)
	return nil
}
