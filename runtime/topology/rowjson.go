package topology

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

// rowField is a declared field of the records of a spout.
type rowField struct {
	state.Column
	// fallback is the value where the record has none (or null); nil makes that an error.
	fallback *Value
}

// rowJSON decodes objects: their declared members, each of its type and there exactly once. Others
// are skipped, but the whole value must be valid JSON. Integers keep all their digits.
func rowJSON(fields []rowField) Decoder[Row] {
	return Decoder[Row]{checked: true, build: func() func(*broker.Record) (Row, error) {
		d := &jsonRows{fields: fields, at: make(map[string]int, len(fields)), row: make(Row, len(fields)), have: make([]bool, len(fields))}
		for i, f := range fields {
			d.at[f.Name] = i
		}
		d.decoder = jsontext.NewDecoder(&d.source)
		return d.decode
	}}
}

// jsonRows is the decoder of one instance.
type jsonRows struct {
	fields  []rowField
	at      map[string]int
	row     Row
	have    []bool
	source  bytes.Buffer
	decoder *jsontext.Decoder
	arena   []byte // texts with escapes, and decimals
}

func (d *jsonRows) decode(r *broker.Record) (Row, error) {
	if len(r.Value) == 0 {
		return nil, errors.New("the value is empty")
	}
	d.source = *bytes.NewBuffer(r.Value)
	d.decoder.Reset(&d.source)
	d.arena = d.arena[:0]
	clear(d.have)
	if d.decoder.PeekKind() != jsontext.KindBeginObject {
		if _, err := d.decoder.ReadValue(); err != nil {
			return nil, jsonError(err)
		}
		return nil, errors.New("the value is valid JSON, but no object")
	}
	if _, err := d.decoder.ReadToken(); err != nil {
		return nil, jsonError(err)
	}
	for d.decoder.PeekKind() == jsontext.KindString {
		if err := d.member(); err != nil {
			return nil, err
		}
	}
	if _, err := d.decoder.ReadToken(); err != nil {
		return nil, jsonError(err)
	}
	if _, err := d.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON object; write one object a record")
	}
	return d.row, d.fill()
}

// member decodes one member of the object.
func (d *jsonRows) member() error {
	name, err := d.decoder.ReadValue()
	if err != nil {
		return jsonError(err)
	}
	i, declared := d.find(name)
	if !declared {
		return jsonError(d.decoder.SkipValue())
	}
	value, err := d.decoder.ReadValue()
	if err != nil {
		return jsonError(err)
	}
	if value.Kind() == jsontext.KindNull {
		return nil
	}
	if d.row[i], err = d.value(d.fields[i].Type, value); err != nil {
		return fmt.Errorf("field %s: %w", d.fields[i].Name, err)
	}
	d.have[i] = true
	return nil
}

// find looks a quoted name up.
func (d *jsonRows) find(quoted jsontext.Value) (int, bool) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		i, ok := d.at[string(quoted[1:len(quoted)-1])]
		return i, ok
	}
	name, err := jsontext.AppendUnquote(nil, quoted)
	i, ok := d.at[string(name)]
	return i, ok && err == nil
}

// fill puts what the record does not say.
func (d *jsonRows) fill() error {
	for i, f := range d.fields {
		switch {
		case d.have[i]:
		case f.fallback != nil:
			d.row[i] = *f.fallback
		default:
			return fmt.Errorf("field %s is missing; declare a default if it may be", f.Name)
		}
	}
	return nil
}

func (d *jsonRows) value(t state.ColumnType, v jsontext.Value) (Value, error) {
	kind := v.Kind()
	switch {
	case t == state.Boolean && (kind == jsontext.KindTrue || kind == jsontext.KindFalse):
		return boolValue(kind == jsontext.KindTrue), nil
	case t == state.Text && kind == jsontext.KindString:
		text, err := d.text(v)
		if err != nil {
			return Value{}, err
		}
		return textValue(text), exchange.CheckText(text)
	case t == state.Numeric && (kind == jsontext.KindNumber || kind == jsontext.KindString):
		digits, err := d.text(v)
		if err != nil {
			return Value{}, err
		}
		return d.decimal(digits)
	case t == state.Bigint && kind == jsontext.KindNumber:
		return parseInt(view(v))
	case t == state.Double && kind == jsontext.KindNumber:
		return parseFloat(view(v))
	}
	return Value{}, fmt.Errorf("%s is not of type %s", clip(string(v)), t)
}

// text is a view of a string without its quotes, or of a number.
func (d *jsonRows) text(v jsontext.Value) (string, error) {
	switch {
	case v[0] != '"':
		return view(v), nil
	case bytes.IndexByte(v, '\\') < 0:
		return view(v[1 : len(v)-1]), nil
	}
	from := len(d.arena)
	var err error
	d.arena, err = jsontext.AppendUnquote(d.arena, v)
	return view(d.arena[from:]), err
}

func (d *jsonRows) decimal(digits string) (Value, error) {
	from := len(d.arena)
	var err error
	if d.arena, err = exchange.AppendNumeric(d.arena, bytesOf(digits)); err != nil {
		return Value{}, fmt.Errorf("%q: %w", clip(digits), err)
	}
	return textValue(view(d.arena[from:])), nil
}

// jsonError drops the prefix of the library.
func jsonError(err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return fmt.Errorf("invalid JSON at byte %d: %w", syntax.ByteOffset, syntax.Err)
	}
	return err
}

func parseInt(s string) (Value, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return Value{}, fmt.Errorf("%q is not a whole number of 64 bits", clip(s))
	}
	return intValue(v), nil
}

// parseFloat takes decimal numbers only: a NaN or an infinity would spoil every sum it enters.
func parseFloat(s string) (Value, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !isDecimal(s) {
		return Value{}, fmt.Errorf("%q is not a decimal number in the range of a double", clip(s))
	}
	return floatValue(v), nil
}

func isDecimal(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case '0' <= c && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return false
		}
	}
	return true
}
