package topology

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/selfregulating/sr/runtime/state"
)

// maxExpression bounds an expression in bytes; the parser recurses.
const maxExpression = 4096

// expression is a compiled and type-checked expression over the fields of a schema. A plain field
// needs no program.
type expression struct {
	kind    state.ColumnType
	field   int // of a plain field, else -1
	program *vm.Program
	schema  schema
	used    []int // fields that the program reads
}

// expressionError is what is wrong with an expression, at a character of it, from 0.
type expressionError struct {
	at      int
	message string
}

func (e *expressionError) Error() string { return e.message }

// compileExpression compiles and checks source. Its error is an *expressionError.
func compileExpression(source string, s schema) (*expression, error) {
	if i := s.find(strings.TrimSpace(source)); i >= 0 {
		return &expression{kind: s[i].Type, field: i}, nil
	}
	if len(source) > maxExpression {
		return nil, &expressionError{0, fmt.Sprintf("the expression has %d bytes, at most %d are read; cut it into steps", len(source), maxExpression)}
	}
	e := &expression{field: -1, schema: s}
	env := make(map[string]any, len(s))
	for _, c := range s {
		env[c.Name] = zeroOf[c.Type]
	}
	reads := &fieldReads{e: e}
	options := append([]expr.Option{expr.Env(env), expr.Patch(reads)}, expressionOptions()...)
	program, err := expr.Compile(source, options...)
	if err != nil {
		return nil, translated(err, s)
	}
	if reads.forbidden != nil {
		return nil, reads.forbidden
	}
	e.program = program
	result := program.Node().Type()
	if e.kind = kindOf(result); e.kind == "" {
		return nil, &expressionError{0, fmt.Sprintf("the result is %s; it must be one of %s", resultWords(result), strings.Join(fieldTypes, ", "))}
	}
	return e, nil
}

// zeroOf has the types that fields have in expressions.
var zeroOf = map[state.ColumnType]any{
	state.Bigint: 0, state.Double: 0.0, state.Numeric: decimal{}, state.Text: "", state.Boolean: false,
}

func kindOf(t reflect.Type) state.ColumnType {
	for kind, zero := range zeroOf {
		if reflect.TypeOf(zero) == t {
			return kind
		}
	}
	return ""
}

func resultWords(t reflect.Type) string {
	switch {
	case t == nil || t.Kind() == reflect.Interface:
		return "of no one type"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Map:
		return "a map"
	}
	return typeWords("type " + t.String())
}

// fieldReads notes which fields a program reads, and a function of the language that is off: those
// over lists are part of its syntax.
type fieldReads struct {
	e         *expression
	forbidden *expressionError
}

func (v *fieldReads) Visit(n *ast.Node) {
	if f, ok := (*n).(*ast.BuiltinNode); ok && !slices.Contains(builtins, f.Name) {
		v.forbidden = &expressionError{f.Location().From, fmt.Sprintf("there is no function %s; use one of %s", f.Name, strings.Join(functionNames(), ", "))}
	}
	id, ok := (*n).(*ast.IdentifierNode)
	if !ok {
		return
	}
	for _, i := range v.e.used {
		if v.e.schema[i].Name == id.Value {
			return
		}
	}
	if i := v.e.schema.find(id.Value); i >= 0 {
		v.e.used = append(v.e.used, i)
	}
}

// evaluator makes the function of one instance.
func (e *expression) evaluator() func(Row) (Value, error) {
	if e.field >= 0 {
		return func(r Row) (Value, error) { return r[e.field], nil }
	}
	var machine vm.VM
	env := make(map[string]any, len(e.used))
	return func(r Row) (Value, error) {
		for _, i := range e.used {
			env[e.schema[i].Name] = r[i].boxed(e.schema[i].Type)
		}
		result, err := machine.Run(e.program, env)
		if err != nil {
			return Value{}, runError(err)
		}
		return unboxed(result)
	}
}

// boxed is the value as expressions see it.
func (v Value) boxed(t state.ColumnType) any {
	switch t {
	case state.Bigint:
		return int(v.Int())
	case state.Double:
		return v.Float()
	case state.Boolean:
		return v.Bool()
	case state.Numeric:
		return decimal{v.text}
	}
	return v.text
}

func unboxed(v any) (Value, error) {
	switch v := v.(type) {
	case int:
		return intValue(int64(v)), nil
	case float64:
		return floatValue(v), nil
	case bool:
		return boolValue(v), nil
	case string:
		return textValue(v), nil
	case decimal:
		return textValue(v.digits), nil
	}
	return Value{}, fmt.Errorf("the expression made a %T, which no field can hold", v)
}

// translated makes an error of the library one in our words.
func translated(err error, s schema) *expressionError {
	var at *file.Error
	if !errors.As(err, &at) {
		return &expressionError{0, typeWords(err.Error())}
	}
	message := typeWords(at.Message)
	if name, unknown := strings.CutPrefix(at.Message, "unknown name "); unknown {
		message = fmt.Sprintf("there is no field or function %s%s (fields: %s)", clip(name), didYouMean(name, append(s.names(), functionNames()...)), strings.Join(s.names(), ", "))
	}
	return &expressionError{at.From, message}
}

// runError drops the snippet, which quotes the whole expression for every record.
func runError(err error) error {
	var at *file.Error
	if errors.As(err, &at) {
		return fmt.Errorf("%s (at character %d of the expression)", at.Message, at.From+1)
	}
	return err
}

var (
	goTypes  = regexp.MustCompile(`topology\.decimal|\b(int|float64|string|bool)\b`)
	sqlTypes = map[string]string{"topology.decimal": "numeric", "int": "bigint", "float64": "double", "string": "text", "bool": "boolean"}
)

// typeWords names types as the rest of a topology does.
func typeWords(message string) string {
	if !strings.Contains(message, "type") && !strings.Contains(message, "cannot") {
		return message
	}
	return goTypes.ReplaceAllStringFunc(message, func(t string) string { return sqlTypes[t] })
}
