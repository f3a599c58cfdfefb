package exchange

import (
	"bytes"
	"unsafe"

	"github.com/cockroachdb/apd/v3"
)

// MaxDigits is the most digits of a decimal on either side of its point, those of the widest
// numeric(p, s) of Postgres. It keeps "1e100000" from becoming a hundred thousand digits.
const MaxDigits = 1000

// maxNumericText bounds a canonical decimal: an input, or a sum of up to 10^18 of them.
const maxNumericText = 2*MaxDigits + 24

// AppendNumeric appends the canonical form of a decimal text: plain digits without exponent, the scale
// kept ("1.10"), no negative zero. The error is ErrNumeric; NaN and infinities are refused.
func AppendNumeric(dst, text []byte) ([]byte, error) {
	var d apd.Decimal
	if len(text) > maxNumericText {
		return dst, ErrNumeric
	}
	if _, _, err := d.SetString(viewString(text)); err != nil || d.Form != apd.Finite {
		return dst, ErrNumeric
	}
	if d.IsZero() {
		d.Negative, d.Exponent = false, min(d.Exponent, 0)
	}
	if -d.Exponent > MaxDigits || d.NumDigits()+int64(d.Exponent) > MaxDigits {
		return dst, ErrNumeric
	}
	return d.Append(dst, 'f'), nil
}

// canonicalNumeric tells whether AppendNumeric or a sum can have written text: enough for apd to
// parse it and for its size to be bounded.
func canonicalNumeric(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(text) > maxNumericText || len(digits) == 0 {
		return false
	}
	point := false
	for i, c := range digits {
		switch {
		case c >= '0' && c <= '9':
		case c == '.' && !point && i > 0 && i < len(digits)-1:
			point = true
		default:
			return false
		}
	}
	return true
}

// decimals is the scratch space for combining decimal texts.
type decimals struct {
	x, y, sum apd.Decimal
	text      []byte
}

// combine folds two canonical texts into one. The result may be a, b, or a view of the scratch space.
func (d *decimals) combine(kind CellKind, a, b []byte) []byte {
	d.parse(&d.x, a)
	d.parse(&d.y, b)
	if kind == AddNumeric {
		if _, err := apd.BaseContext.Add(&d.sum, &d.x, &d.y); err != nil {
			panic("exchange: adding bounded decimals: " + err.Error())
		}
		d.sum.Negative = d.sum.Negative && !d.sum.IsZero()
		d.text = d.sum.Append(d.text[:0], 'f')
		return d.text
	}
	order := d.x.Cmp(&d.y)
	if order == 0 {
		order = bytes.Compare(a, b) // 1.0 and 1.00: the choice must not depend on who came first
	}
	if (order < 0) == (kind == MinNumeric) {
		return a
	}
	return b
}

func (d *decimals) parse(into *apd.Decimal, text []byte) {
	if _, _, err := into.SetString(viewString(text)); err != nil {
		panic("exchange: decimal text in a table is not canonical: " + err.Error())
	}
}

// viewString reads b as a string without a copy, for callees that do not keep it.
func viewString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
