package topology

import (
	"math"
	"strconv"

	"github.com/selfregulating/sr/runtime/state"
)

// Row is a tuple of typed fields, as YAML topologies and the CSV decoder have them. The types stand in
// the declaration, not in the values, so an accessor must be the one of the field's type. A row and
// its texts are valid during the call only.
type Row []Value

// Value is a field of a Row. Its zero value is 0, "", false, and an invalid numeric.
type Value struct {
	num  uint64 // bigint; bits of a double; 0 or 1
	text string // text; numeric in canonical form
}

// Int is the value of a bigint field.
func (v Value) Int() int64 { return int64(v.num) }

// Float is the value of a double field.
func (v Value) Float() float64 { return math.Float64frombits(v.num) }

// Bool is the value of a boolean field.
func (v Value) Bool() bool { return v.num != 0 }

// Text is the value of a text field, or the digits of a numeric one: a view, to be copied if kept.
func (v Value) Text() string { return v.text }

func intValue(v int64) Value     { return Value{num: uint64(v)} }
func floatValue(v float64) Value { return Value{num: math.Float64bits(v)} }
func textValue(s string) Value   { return Value{text: s} }
func boolValue(b bool) Value {
	if b {
		return Value{num: 1}
	}
	return Value{}
}

// Numeric is a decimal number as text, of any size: what Postgres calls numeric.
type Numeric string

// fieldTypes are the types a field of a Row may have.
var fieldTypes = []string{"bigint", "double", "numeric", "text", "boolean"}

// schema lists the fields of a stream of rows.
type schema []state.Column

func (s schema) find(name string) int {
	for i, c := range s {
		if c.Name == name {
			return i
		}
	}
	return -1
}

func (s schema) names() []string {
	names := make([]string, len(s))
	for i, c := range s {
		names[i] = c.Name
	}
	return names
}

// format writes a value as people would.
func (v Value) format(t state.ColumnType) string {
	switch t {
	case state.Bigint:
		return strconv.FormatInt(v.Int(), 10)
	case state.Double:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case state.Boolean:
		return strconv.FormatBool(v.Bool())
	}
	return v.text
}
