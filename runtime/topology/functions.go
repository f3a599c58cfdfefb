package topology

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/expr-lang/expr"
)

// builtins are the functions of the expression language that topologies may use. The rest is off:
// functions over lists and maps, which no field can be, and clocks.
var builtins = []string{
	"len", "ceil", "floor", "round", "trim", "trimPrefix", "trimSuffix", "upper", "lower", "replace",
	"indexOf", "lastIndexOf", "hasPrefix", "hasSuffix",
}

// function is one of ours, with the types it takes.
type function struct {
	call  func(args ...any) (any, error)
	types []any
}

// ownFunctions convert, where the language's own would wrap or guess.
var ownFunctions = map[string]function{
	"int":     {toInt, []any{new(func(int) int), new(func(float64) int), new(func(string) int), new(func(decimal) int)}},
	"float":   {toFloat, []any{new(func(int) float64), new(func(float64) float64), new(func(string) float64), new(func(decimal) float64)}},
	"string":  {toText, []any{new(func(int) string), new(func(float64) string), new(func(string) string), new(func(bool) string), new(func(decimal) string)}},
	"numeric": {toDecimal, []any{new(func(int) decimal), new(func(string) decimal), new(func(decimal) decimal)}},
	"abs":     {absolute, []any{new(func(int) int), new(func(float64) float64), new(func(decimal) decimal)}},
}

func functionNames() []string {
	return append(slices.Sorted(maps.Keys(ownFunctions)), builtins...)
}

// expressionOptions are what every expression is compiled with. freshCalls must be the last of all:
// the check after it is the one that counts.
func expressionOptions() []expr.Option {
	options := []expr.Option{expr.DisableAllBuiltins(), expr.MaxNodes(500)}
	for _, name := range builtins {
		options = append(options, expr.EnableBuiltin(name))
	}
	for name, f := range ownFunctions {
		options = append(options, expr.Function(name, f.call, f.types...))
	}
	return append(options, operators()...)
}

// operators are the functions that operatorPatch puts in place of operators: integer arithmetic that
// fails where it would wrap, and exact decimals.
func operators() []expr.Option {
	var options []expr.Option
	add := func(name string, call func(a, b any) (any, error), types ...any) {
		options = append(options, expr.Function(name, func(args ...any) (any, error) { return call(args[0], args[1]) }, types...))
	}
	for _, f := range arithmetic {
		add("int"+f.name, f.ints, new(func(int, int) int))
		add("numeric"+f.name, f.decimals,
			new(func(decimal, decimal) decimal), new(func(decimal, int) decimal), new(func(int, decimal) decimal))
	}
	for operator, holds := range comparisons {
		add("numeric"+operator, compareDecimals(holds),
			new(func(decimal, decimal) bool), new(func(decimal, int) bool), new(func(int, decimal) bool))
	}
	return append(options, expr.Patch(&operatorPatch{}), expr.Patch(freshCalls{}))
}

type arithmeticOperator struct {
	name           string
	ints, decimals func(a, b any) (any, error)
}

var arithmetic = map[string]arithmeticOperator{
	"+": {"Plus", checkedInts(func(a, b int) (int, bool) { return a + b, (a+b > a) == (b > 0) }), decimalArithmetic(addDecimals)},
	"-": {"Minus", checkedInts(func(a, b int) (int, bool) { return a - b, (a-b < a) == (b > 0) }), decimalArithmetic(subDecimals)},
	"*": {"Times", checkedInts(timesInts), decimalArithmetic(mulDecimals)},
}

var comparisons = map[string]func(order int) bool{
	"<": func(o int) bool { return o < 0 }, "<=": func(o int) bool { return o <= 0 },
	">": func(o int) bool { return o > 0 }, ">=": func(o int) bool { return o >= 0 },
	"==": func(o int) bool { return o == 0 }, "!=": func(o int) bool { return o != 0 },
}

var errIntRange = errors.New("the result is beyond 64 bits; use numeric() for larger numbers")

func checkedInts(f func(a, b int) (int, bool)) func(a, b any) (any, error) {
	return func(a, b any) (any, error) {
		v, ok := f(a.(int), b.(int))
		if !ok {
			return nil, errIntRange
		}
		return v, nil
	}
}

func timesInts(a, b int) (int, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	v := a * b
	return v, v/b == a && !(a == -1 && b == math.MinInt) && !(b == -1 && a == math.MinInt)
}

func toInt(args ...any) (any, error) {
	switch v := args[0].(type) {
	case float64:
		if !(v >= -1<<63 && v < 1<<63) {
			return nil, fmt.Errorf("int(%v): %w", v, errIntRange)
		}
		return int(v), nil
	case string:
		return parseWhole(v)
	case decimal:
		return parseWhole(v.whole())
	}
	return args[0], nil
}

func parseWhole(s string) (any, error) {
	v, err := strconv.Atoi(s)
	if err != nil {
		return nil, fmt.Errorf("int(%q): not a whole number of 64 bits", clip(s))
	}
	return v, nil
}

func toFloat(args ...any) (any, error) {
	switch v := args[0].(type) {
	case int:
		return float64(v), nil
	case string:
		f, err := parseFloat(v)
		return f.Float(), err
	case decimal:
		f, err := parseFloat(v.digits)
		return f.Float(), err
	}
	return args[0], nil
}

func toText(args ...any) (any, error) {
	switch v := args[0].(type) {
	case decimal:
		return v.digits, nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	return fmt.Sprint(args[0]), nil
}

func absolute(args ...any) (any, error) {
	switch v := args[0].(type) {
	case int:
		if v == math.MinInt {
			return nil, errIntRange
		}
		return max(v, -v), nil
	case float64:
		return math.Abs(v), nil
	case decimal:
		return v.abs(), nil
	}
	return args[0], nil
}
