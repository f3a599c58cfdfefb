package topology

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/selfregulating/sr/runtime/broker"
)

// decoded is a row as text, or the error.
func decoded[T any](d Decoder[Row], columns []T, kind func(T) Column, value string) string {
	row, err := d.build()(&broker.Record{Value: []byte(value)})
	if err != nil {
		return "error: " + err.Error()
	}
	words := make([]string, len(row))
	for i, v := range row {
		words[i] = v.format(kind(columns[i]).Type)
	}
	return strings.Join(words, "|")
}

func TestJSONRecords(t *testing.T) {
	one := intValue(1)
	fields := []rowField{
		{Column: Column{Name: "id", Type: "bigint"}},
		{Column: Column{Name: "rate", Type: "double"}},
		{Column: Column{Name: "price", Type: "numeric"}},
		{Column: Column{Name: "name", Type: "text"}},
		{Column: Column{Name: "ok", Type: "boolean"}},
		{Column: Column{Name: "n", Type: "bigint"}, fallback: &one},
	}
	const rest = `"rate":1.5,"price":2.50,"name":"x","ok":true`
	for value, want := range map[string]string{
		`{"id":9007199254740993,` + rest + `}`:                                            "9007199254740993|1.5|2.50|x|true|1",
		`{"id":-9223372036854775808,` + rest + `,"n":7}`:                                  "-9223372036854775808|1.5|2.50|x|true|7",
		`{"id":1,` + rest + `,"n":null,"more":{"deep":[1,{"id":2}]}}`:                     "1|1.5|2.50|x|true|1",
		" {\"id\" : 1 ,\n" + rest + "} \n":                                                "1|1.5|2.50|x|true|1",
		`{"\u0069d":1,` + rest + `}`:                                                      "1|1.5|2.50|x|true|1",
		`{"id":1,"rate":1e2,"price":"12.30","name":"a\"b\u00e9","ok":false}`:              `1|100|12.30|a"bé|false|1`,
		`{"id":1,"rate":1,"price":123456789012345678901234567890.10,"name":"","ok":true}`: "1|1|123456789012345678901234567890.10||true|1",
		`{"ID":1,` + rest + `}`:                                                           "error: field id is missing; declare a default if it may be",
		`{` + rest + `}`:                                                                  "error: field id is missing; declare a default if it may be",
		`{"id":null,` + rest + `}`:                                                        "error: field id is missing; declare a default if it may be",
		`{"id":1.0,` + rest + `}`:                                                         `error: field id: "1.0" is not a whole number of 64 bits`,
		`{"id":9223372036854775808,` + rest + `}`:                                         `error: field id: "9223372036854775808" is not a whole number of 64 bits`,
		`{"id":"1",` + rest + `}`:                                                         `error: field id: "1" is not of type bigint`,
		`{"id":1,"rate":1e999,"price":1,"name":"","ok":true}`:                             `error: field rate: "1e999" is not a decimal number in the range of a double`,
		`{"id":1,"rate":1,"price":1e5000,"name":"","ok":true}`:                            `error: field price: "1e5000": not a finite decimal number of at most 1000 digits on either side of the point`,
		`{"id":1,"rate":1,"price":"NaN","name":"","ok":true}`:                             `error: field price: "NaN": not a finite decimal number of at most 1000 digits on either side of the point`,
		`{"id":1,"rate":1,"price":1,"name":"a\u0000b","ok":true}`:                         "error: field name: text holds a NUL character, which Postgres cannot store; remove it at the source",
		`{"id":1,"rate":1,"price":1,"name":7,"ok":true}`:                                  "error: field name: 7 is not of type text",
		`{"id":1,"rate":1,"price":1,"name":"","ok":"true"}`:                               `error: field ok: "true" is not of type boolean`,
		`{"id":1,"id":2,` + rest + `}`:                                                    `error: invalid JSON at byte 8: duplicate object member name`,
		`{"id":1,` + rest + `} {}`:                                                        "error: something follows the JSON object; write one object a record",
		`[1]`:                                                                             "error: the value is valid JSON, but no object",
		``:                                                                                "error: the value is empty",
		`{"id":01}`:                                                                       "error: invalid JSON at byte 7: invalid character '1' after object value (expecting ',' or '}')",
		`{"id":1,"rate":1,"price":1,"name":"` + "\xff" + `"}`:                             "error: invalid JSON at byte 35: invalid UTF-8",
		`{"id":1,`: "error: invalid JSON at byte 8: unexpected EOF",
	} {
		got := decoded(rowJSON(fields), fields, func(f rowField) Column { return f.Column }, value)
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", value, got, want)
		}
	}
}

func TestJSONRecordsDoNotMix(t *testing.T) {
	decode := rowJSON([]rowField{{Column: Column{Name: "a", Type: "text"}}}).build()
	for _, value := range []string{`{"a":"x\ty"}`, `{"a":`, `{"a":"z"}`, `{"b":1}`, `{"a":"w"}`} {
		row, err := decode(&broker.Record{Value: []byte(value)})
		var std map[string]any
		stdErr := json.Unmarshal([]byte(value), &std)
		if _, there := std["a"]; (err == nil) != (stdErr == nil && there) {
			t.Errorf("%s: error %v", value, err)
		}
		if err == nil && row[0].Text() != std["a"] {
			t.Errorf("%s: %q", value, row[0].Text())
		}
	}
}

func TestCSVRecords(t *testing.T) {
	columns := []Column{{Name: "id", Type: "bigint"}, {Name: "name", Type: "text"}, {Name: "price", Type: "numeric"}, {Name: "ok", Type: "boolean"}}
	for value, want := range map[string]string{
		"1,x,2.50,true":                        "1|x|2.50|true",
		"1,x,2.50,true\r\n":                    "1|x|2.50|true",
		`-5,"a, ""b""` + "\n" + `c",1e2,false`: `-5|a, "b"` + "\n" + `c|100|false`,
		`1,,0,true`:                            "1||0|true",
		`1,"",0,"true"`:                        "1||0|true",
		`1,"""",0,true`:                        `1|"|0|true`,
		"1,x,2":                                "error: the record has fewer columns than the 4 declared",
		"1,x,2,true,":                          "error: the record has more columns than the 4 declared",
		"":                                     `error: column id: "" is not a whole number of 64 bits`,
		" 1,x,2,true":                          `error: column id: " 1" is not a whole number of 64 bits`,
		`1,a"b,2,true`:                         "error: column name: a quote stands inside a field without quotes; put the field in quotes and double those inside",
		`1,"ab,2,true`:                         "error: column name: the closing quote is missing",
		`1,"a"b,2,true`:                        `error: column name: 'b' follows a closing quote; double the quotes inside a field`,
		"1,x,two,true":                         `error: column price: "two": not a finite decimal number of at most 1000 digits on either side of the point`,
		"1,x,2,yes":                            `error: column ok: "yes" is neither true nor false`,
		"1,\xff,2,true":                        "error: text is not valid UTF-8; re-encode it at the source",
	} {
		if got := decoded(CSV(columns...), columns, func(c Column) Column { return c }, value); got != want {
			t.Errorf("%q\ngot  %s\nwant %s", value, got, want)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add(`1,"a""b",c`)
	f.Add(`"`)
	f.Fuzz(func(t *testing.T, value string) {
		columns := []Column{{Name: "a", Type: "text"}, {Name: "b", Type: "text"}}
		decoded(CSV(columns...), columns, func(c Column) Column { return c }, value)
	})
}
