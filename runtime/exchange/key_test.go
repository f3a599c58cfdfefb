package exchange

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Stored state depends on these: a change here is a change of every bucket of every deployment.
func TestKeyEncodingHashAndBucketNeverChange(t *testing.T) {
	for _, c := range []struct {
		name   string
		key    []byte
		hex    string
		hash   uint64
		of64   int32
		of1000 int32
	}{
		{"no fields", nil, "", 0x2d06800538d394c2, 2, 138},
		{"empty text", AppendText(nil, ""), "0100", 0xab94ac0ace7276c0, 0, 576},
		{"word", AppendText(nil, "word"), "0104776f7264", 0x7d237942a71bd094, 20, 332},
		{"umlaut", AppendText(nil, "wörter"), "010777c3b672746572", 0x9749f99b3e6fce10, 16, 968},
		{"longest inline", AppendText(nil, "thirteenchars"), "010d746869727465656e6368617273", 0x737ffb113db39980, 0, 176},
		{"not inline", AppendText(nil, "fourteen chars"), "010e666f75727465656e206368617273", 0x34c73cbfd50c8d57, 23, 935},
		{"zero", AppendInt(nil, 0), "028000000000000000", 0xdcfd168574dc1eb8, 56, 168},
		{"minus one", AppendInt(nil, -1), "027fffffffffffffff", 0x272f833168d9ce62, 34, 106},
		{"half", AppendFloat(nil, 0.5), "03bfe0000000000000", 0x6c84fb9acd06817c, 60, 684},
		{"true", AppendBool(nil, true), "0401", 0x3bd631e4a5582d1f, 31, 479},
		{"word and number", AppendInt(AppendText(nil, "a"), 7), "010161028000000000000007", 0xa69ef03dd7449690, 16, 752},
		{"300 bytes", AppendText(nil, strings.Repeat("long ", 60)), "01ac02" + strings.Repeat("6c6f6e6720", 60), 0x4299d53b9e74818c, 12, 364},
	} {
		if got := hex.EncodeToString(c.key); got != c.hex {
			t.Errorf("%s: encoded as %s, want %s", c.name, got, c.hex)
		}
		if got := Hash(c.key); got != c.hash {
			t.Errorf("%s: hash %#x, want %#x", c.name, got, c.hash)
		}
		if of64, of1000 := Bucket(c.key, 64), Bucket(c.key, 1000); of64 != c.of64 || of1000 != c.of1000 {
			t.Errorf("%s: buckets %d, %d, want %d, %d", c.name, of64, of1000, c.of64, c.of1000)
		}
	}
}

// keyValues is a key as Go values: string, int64, float64 or bool.
type keyValues []any

func (k keyValues) encode() []byte {
	var key []byte
	for _, v := range k {
		switch v := v.(type) {
		case string:
			key = AppendText(key, v)
		case int64:
			key = AppendInt(key, v)
		case float64:
			key = AppendFloat(key, v)
		case bool:
			key = AppendBool(key, v)
		}
	}
	return key
}

func drawKey(t *rapid.T, label string, kinds []FieldKind) keyValues {
	var k keyValues
	for _, kind := range kinds {
		switch kind {
		case Text:
			k = append(k, rapid.OneOf(rapid.StringOfN(rapid.RuneFrom([]rune("ab\x00\u00e9")), 0, 12, -1), rapid.String()).Draw(t, label))
		case Bigint:
			k = append(k, rapid.OneOf(rapid.Int64Range(-2, 2), rapid.Int64()).Draw(t, label))
		case Double:
			special := rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1)})
			k = append(k, rapid.OneOf(special, rapid.Float64()).Draw(t, label))
		case Boolean:
			k = append(k, rapid.Bool().Draw(t, label))
		}
	}
	return k
}

var drawKinds = rapid.SliceOfN(rapid.SampledFrom([]FieldKind{Text, Bigint, Double, Boolean}), 0, 4)

// compareValues orders as Postgres does: NaN equal to itself and above all, -0 equal to 0.
func compareValues(a, b any) int {
	switch a := a.(type) {
	case string:
		return cmp.Compare(a, b.(string))
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		b := b.(float64)
		if a != a || b != b {
			return cmp.Compare(bit(a != a), bit(b != b))
		}
		return cmp.Compare(a, b)
	}
	return cmp.Compare(bit(a.(bool)), bit(b.(bool)))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestKeysDecodeToTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := drawKey(t, "key", drawKinds.Draw(t, "kinds"))
		rest := values.encode()
		for _, want := range values {
			f, r, err := NextField(rest)
			if err != nil {
				t.Fatal(err)
			}
			var got any
			switch f.Kind {
			case Text:
				got = string(f.Text())
			case Bigint:
				got = f.Int()
			case Double:
				got = f.Float()
			case Boolean:
				got = f.Bool()
			}
			if compareValues(want, got) != 0 {
				t.Fatalf("decoded %v, want %v", got, want)
			}
			rest = r
		}
		if len(rest) > 0 {
			t.Fatalf("%d bytes left", len(rest))
		}
	})
}

func TestCompareKeysOrdersByValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := drawKinds.Draw(t, "kinds")
		x, y := drawKey(t, "x", kinds), drawKey(t, "y", kinds)
		want := slices.CompareFunc(x, y, compareValues)
		a, b := x.encode(), y.encode()
		if got := CompareKeys(a, b); got != want {
			t.Fatalf("compared as %d, want %d", got, want)
		}
		if (want == 0) != bytes.Equal(a, b) {
			t.Fatal("equal values must have equal encodings, unequal ones must not")
		}
		checkPrefixes(t, a, b)
	})
}

// The order must be total on any bytes, or sorting what a hostile block held would have no end.
func TestCompareKeysIsATotalOrderOnAnyBytes(t *testing.T) {
	anyKey := rapid.OneOf(
		rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 3, 4, 5, 0x80}), 0, 12),
		rapid.Custom(func(t *rapid.T) []byte { return drawKey(t, "key", drawKinds.Draw(t, "kinds")).encode() }),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyKey.Draw(t, "a"), anyKey.Draw(t, "b"), anyKey.Draw(t, "c")
		if CompareKeys(a, b) != -CompareKeys(b, a) {
			t.Fatal("not antisymmetric")
		}
		if CompareKeys(a, b) <= 0 && CompareKeys(b, c) <= 0 && CompareKeys(a, c) > 0 {
			t.Fatal("not transitive")
		}
		checkPrefixes(t, a, b)
	})
}

func checkPrefixes(t *rapid.T, a, b []byte) {
	if p, q := keyPrefix(a), keyPrefix(b); p != q && cmp.Compare(p, q) != CompareKeys(a, b) {
		t.Fatalf("prefixes %#x, %#x contradict the order %d", p, q, CompareKeys(a, b))
	}
}

func TestNextFieldRefusesWhatNoEncoderWrites(t *testing.T) {
	for name, key := range map[string][]byte{
		"unknown tag":        {9, 0},
		"text without size":  {1},
		"text cut short":     {1, 3, 'a', 'b'},
		"text, long varint":  {1, 0x81, 0x00, 'a'},
		"text, huge size":    append([]byte{1}, bytes.Repeat([]byte{0xff}, 10)...),
		"bigint cut short":   {2, 0, 0, 0, 0, 0, 0, 0},
		"double, minus zero": {3, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"double, other NaN":  {3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"boolean of two":     {4, 2},
	} {
		if _, _, err := NextField(key); !errors.Is(err, ErrKeyFormat) {
			t.Errorf("%s: %v, want ErrKeyFormat", name, err)
		}
	}
}

func TestCheckTextNamesWhatPostgresCannotStore(t *testing.T) {
	for text, want := range map[string]error{"": nil, "wörd": nil, "a\x00b": ErrKeyNUL, "a\xffb": ErrKeyUTF8} {
		if got := CheckText(text); !errors.Is(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestFormatKeyIsReadable(t *testing.T) {
	key := keyValues{"a b", int64(-3), 1.5, true}.encode()
	if got, want := FormatKey(key), `("a b", -3, 1.5, true)`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := FormatKey([]byte{9}); !strings.Contains(got, "malformed 09") {
		t.Errorf("%s does not show the malformed bytes", got)
	}
}
