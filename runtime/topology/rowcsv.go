package topology

import (
	"errors"
	"fmt"
	"strings"

	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

// Column is a typed field of a record.
type Column = state.Column

// CSV decodes the value of a record as one line of comma-separated values (RFC 4180): a Row with a
// field for each column, in order. A field that is not of its type, or one too few or too many, makes
// the record a dead letter.
func CSV(columns ...Column) Decoder[Row] {
	d := rowCSV(columns, ',')
	for _, c := range columns {
		if !strings.Contains(strings.Join(fieldTypes, " "), string(c.Type)) || c.Type == "" {
			d.problem = fmt.Errorf("column %s has the type %q; use one of %s", c.Name, c.Type, strings.Join(fieldTypes, ", "))
		}
	}
	if len(columns) == 0 {
		d.problem = errors.New("CSV needs the columns, in their order")
	}
	return d
}

func rowCSV(columns []Column, delimiter byte) Decoder[Row] {
	return Decoder[Row]{checked: true, build: func() func(*broker.Record) (Row, error) {
		d := &csvRows{columns: columns, delimiter: delimiter, row: make(Row, len(columns))}
		return d.decode
	}}
}

// csvRows is the decoder of one instance.
type csvRows struct {
	columns   []Column
	delimiter byte
	row       Row
	arena     []byte // fields with doubled quotes, and decimals
}

func (d *csvRows) decode(r *broker.Record) (Row, error) {
	line := strings.TrimSuffix(strings.TrimSuffix(view(r.Value), "\n"), "\r")
	if err := exchange.CheckText(line); err != nil {
		return nil, err
	}
	d.arena = d.arena[:0]
	for i, c := range d.columns {
		field, rest, more, err := d.cut(line)
		if err == nil {
			d.row[i], err = d.value(c.Type, field)
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		if last := i == len(d.columns)-1; more == last {
			return nil, fmt.Errorf("the record has %s columns than the %d declared", map[bool]string{true: "more", false: "fewer"}[more], len(d.columns))
		}
		line = rest
	}
	return d.row, nil
}

// cut takes the first field off a line; more tells whether a delimiter follows it.
func (d *csvRows) cut(line string) (field, rest string, more bool, err error) {
	if line == "" || line[0] != '"' {
		i := strings.IndexByte(line, d.delimiter)
		if i < 0 {
			i = len(line)
		}
		if strings.IndexByte(line[:i], '"') >= 0 {
			return "", "", false, errors.New("a quote stands inside a field without quotes; put the field in quotes and double those inside")
		}
		return d.after(line, 0, i, i)
	}
	doubled := false
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] != '"':
		case i+1 < len(line) && line[i+1] == '"':
			doubled = true
			i++
		default:
			field, rest, more, err = d.after(line, 1, i, i+1)
			if doubled {
				field = d.undouble(field)
			}
			return field, rest, more, err
		}
	}
	return "", "", false, errors.New("the closing quote is missing")
}

// after is line[from:to] with what follows the end of its field.
func (d *csvRows) after(line string, from, to, end int) (field, rest string, more bool, err error) {
	switch {
	case end == len(line):
		return line[from:to], "", false, nil
	case line[end] == d.delimiter:
		return line[from:to], line[end+1:], true, nil
	}
	return "", "", false, fmt.Errorf("%q follows a closing quote; double the quotes inside a field", line[end])
}

func (d *csvRows) undouble(field string) string {
	from := len(d.arena)
	for i := 0; i < len(field); i++ {
		d.arena = append(d.arena, field[i])
		if field[i] == '"' {
			i++
		}
	}
	return view(d.arena[from:])
}

func (d *csvRows) value(t state.ColumnType, field string) (Value, error) {
	switch t {
	case state.Bigint:
		return parseInt(field)
	case state.Double:
		return parseFloat(field)
	case state.Numeric:
		from := len(d.arena)
		var err error
		if d.arena, err = exchange.AppendNumeric(d.arena, bytesOf(field)); err != nil {
			return Value{}, fmt.Errorf("%q: %w", clip(field), err)
		}
		return textValue(view(d.arena[from:])), nil
	case state.Boolean:
		switch field {
		case "true", "false":
			return boolValue(field == "true"), nil
		}
		return Value{}, fmt.Errorf("%q is neither true nor false", clip(field))
	}
	return textValue(field), nil
}
