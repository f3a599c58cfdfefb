package topology

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

// maxFields bounds the fields of a record and of a row.
const maxFields = 256

// fields reads fields: or columns: of a spout.
func (r *reader) fields(s *spoutEntry, key string, n *yaml.Node) {
	s.fieldsKey, s.fieldsName = n, key
	for _, e := range r.entries(n, key) {
		f := rowField{Column: state.Column{Name: e.key.Value}}
		r.fieldName(e.key)
		if e.value.Kind == yaml.MappingNode {
			r.fieldMapping(&f, e.value)
		} else {
			r.fieldType(&f, e.value)
		}
		s.fields = append(s.fields, f)
	}
	if len(s.fields) > maxFields {
		r.add(where(n), "%s has %d fields, at most %d are read; leave out what is not used", key, len(s.fields), maxFields)
	}
}

func (r *reader) fieldName(n *yaml.Node) {
	if !isField(n.Value) {
		r.add(where(n), "%q cannot be the name of a field; use %s", clip(n.Value), fieldRule)
	}
}

func (r *reader) fieldType(f *rowField, n *yaml.Node) {
	word, ok := r.oneOf(n, "the type of "+clip(f.Name), fieldTypes)
	if f.Type = state.ColumnType(word); !ok {
		f.Type = state.Text // to go on with
	}
}

func (r *reader) fieldMapping(f *rowField, n *yaml.Node) {
	var fallback *yaml.Node
	f.Type = ""
	r.mapping(n, "the field "+clip(f.Name),
		keyReader{"type", func(n *yaml.Node) { r.fieldType(f, n) }},
		keyReader{"default", func(n *yaml.Node) { fallback = n }},
	)
	if f.Type == "" {
		r.add(where(n), "the field %s has no type; give it one", clip(f.Name))
		f.Type = state.Text
	}
	if fallback == nil {
		return
	}
	text, ok := r.scalar(fallback, "default")
	if !ok {
		return
	}
	value, err := fieldValue(f.Type, text)
	if err != nil {
		r.add(where(fallback), "default: %v, so it cannot be a %s", err, f.Type)
	}
	f.fallback = &value
}

// fieldValue reads a value as it stands in a topology.
func fieldValue(t state.ColumnType, s string) (Value, error) {
	switch t {
	case state.Bigint:
		return parseInt(s)
	case state.Double:
		return parseFloat(s)
	case state.Numeric:
		digits, err := exchange.AppendNumeric(nil, []byte(s))
		return textValue(string(digits)), err
	case state.Boolean:
		if s != "true" && s != "false" {
			return Value{}, fmt.Errorf("%q is neither true nor false", clip(s))
		}
		return boolValue(s == "true"), nil
	}
	return textValue(s), exchange.CheckText(s)
}

// decoder resolves decode and what belongs to it.
func (r *reader) decoder(s *spoutEntry) (Decoder[Row], schema) {
	wants := map[string]string{"json": "fields", "csv": "columns"}[s.decode]
	switch {
	case s.fieldsKey == nil && wants != "":
		r.add(s.at, "spout %s: %s is missing; decode: %s needs it, like %s: {user: text, amount: bigint}", clip(s.name), wants, s.decode, wants)
	case s.fieldsKey != nil && s.fieldsName != wants:
		r.add(where(s.fieldsKey), "%s does not belong to decode: %s; use fields with json, columns with csv, neither with text", s.fieldsName, s.decode)
	}
	if s.delimiter != "" && (s.decode != "csv" || len(s.delimiter) != 1 || s.delimiter == `"` || s.delimiter == "\n") {
		r.add(s.at, "spout %s: delimiter is one character of ASCII between columns, with decode: csv only", clip(s.name))
		s.delimiter = ""
	}
	columns := make(schema, len(s.fields))
	for i, f := range s.fields {
		columns[i] = f.Column
		if f.fallback != nil && s.decode == "csv" {
			r.add(where(s.fieldsKey), "column %s has a default, but every column of a csv record is there; leave it out", clip(f.Name))
		}
	}
	switch s.decode {
	case "json":
		return rowJSON(s.fields), columns
	case "csv":
		return rowCSV(columns, (s.delimiter + ",")[0]), columns
	}
	return rowText, schema{{Name: "value", Type: state.Text}}
}
