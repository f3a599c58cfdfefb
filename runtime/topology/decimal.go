package topology

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/selfregulating/sr/runtime/exchange"
)

// decimal is a numeric field in expressions: digits in canonical form. A struct, so that the checker
// of expressions takes it neither for a text nor for a number.
type decimal struct{ digits string }

func toDecimal(args ...any) (any, error) {
	switch v := args[0].(type) {
	case int:
		return decimal{strconv.Itoa(v)}, nil
	case string:
		return canonical(v)
	}
	return args[0], nil
}

// canonical checks digits, and the size of the number.
func canonical(digits string) (any, error) {
	text, err := exchange.AppendNumeric(nil, bytesOf(digits))
	if err != nil {
		return nil, fmt.Errorf("numeric(%q): %w", clip(digits), err)
	}
	return decimal{string(text)}, nil
}

// parse reads a decimal or an int operand.
func parseOperand(v any) (*apd.Decimal, error) {
	if i, ok := v.(int); ok {
		return apd.New(int64(i), 0), nil
	}
	d, _, err := apd.NewFromString(v.(decimal).digits)
	return d, err
}

func operands(a, b any) (x, y *apd.Decimal, err error) {
	if x, err = parseOperand(a); err != nil {
		return nil, nil, err
	}
	y, err = parseOperand(b)
	return x, y, err
}

type decimalOperation func(sum, a, b *apd.Decimal) (apd.Condition, error)

var (
	addDecimals decimalOperation = apd.BaseContext.Add
	subDecimals decimalOperation = apd.BaseContext.Sub
	mulDecimals decimalOperation = apd.BaseContext.Mul
)

func decimalArithmetic(f decimalOperation) func(a, b any) (any, error) {
	return func(a, b any) (any, error) {
		x, y, err := operands(a, b)
		if err != nil {
			return nil, err
		}
		var result apd.Decimal
		if _, err := f(&result, x, y); err != nil {
			return nil, err
		}
		return canonical(result.Text('f'))
	}
}

func compareDecimals(holds func(order int) bool) func(a, b any) (any, error) {
	return func(a, b any) (any, error) {
		x, y, err := operands(a, b)
		if err != nil {
			return nil, err
		}
		return holds(x.Cmp(y)), nil
	}
}

// whole is the part before the point.
func (d decimal) whole() string {
	whole, _, _ := strings.Cut(d.digits, ".")
	return whole
}

func (d decimal) abs() decimal { return decimal{strings.TrimPrefix(d.digits, "-")} }
