package topology

import (
	"errors"
	"strings"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
)

const splitAndCount = `words: {from: in, flatMap: 'split(value, " ")', as: word}
counts: {from: words, groupBy: [word], persistentAggregate: {count: count()}}`

func wordCountInGo() (*Plan, error) {
	b := New("test")
	words := Split(From(b, "in", Kafka{Topic: "in"}, Text), "words", " ")
	PersistentAggregate(GroupBy(words, ByText("word")), "counts", StateConfig{}, Count[string]("count"))
	return b.Plan()
}

func TestSplittingAndCountingAllocatesNothing(t *testing.T) {
	inYAML, errYAML := one("decode: text", splitAndCount)
	inGo, errGo := wordCountInGo()
	filtered := func() (*Plan, error) {
		b := New("test")
		words := Split(From(b, "in", Kafka{Topic: "in"}, Text), "words", ", ")
		long := Filter(words, "long", func(w string) bool { return len(w) > 3 })
		PersistentAggregate(GroupBy(long, By("word", func(w string) string { return w })), "counts", StateConfig{}, Count[string]("count"))
		return b.Plan()
	}
	inGo2, errGo2 := filtered()
	for name, p := range map[string]struct {
		plan *Plan
		err  error
	}{"YAML": {inYAML, errYAML}, "Go": {inGo, errGo}, "Go with filter": {inGo2, errGo2}} {
		r := start(t, p.plan, p.err)
		record := &broker.Record{Value: []byte("the quick brown fox, jumps over the lazy dog, and a word of more than sixteen bytes: incomprehensibilities")}
		run := func() {
			if err := r.handle(0, record); err != nil {
				t.Fatal(err)
			}
			if err := r.tables[0].CommitRecord(); err != nil {
				t.Fatal(err)
			}
		}
		for range 1000 { // until the tables have their size
			run()
		}
		if n := testing.AllocsPerRun(1000, run); n != 0 {
			t.Errorf("%s: %v allocations a record", name, n)
		}
	}
}

func TestWordsAreLongestRunsWithoutTheSeparator(t *testing.T) {
	for separator, want := range map[string][]string{
		" ": {"a,b", ",", "c,", ",d"}, ",": {"a", "b ", " c", " ", "d"}, ", ": {"a,b ", "c", ",d"}, "é": {"a,b , c, ,d"},
	} {
		var got []string
		split := splitter(separator, func(w string) error { got = append(got, w); return nil })
		for _, text := range []string{"a,b , c, ,d", "", separator, separator + separator} {
			if err := split(text); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q: %q, want %q", separator, got, want)
		}
	}
}

func TestFieldsStayBesideTheWordsOfASplit(t *testing.T) {
	r := start2(t, "decode: csv, columns: {user: text, said: text}", `words: {from: in, flatMap: 'split(said, " ")', as: said}
counts: {from: words, groupBy: [user, said], persistentAggregate: {count: count()}}`)
	for _, line := range []string{"ann,hi there hi", "bob,hi"} {
		if err := r.feed(line); err != nil {
			t.Fatal(err)
		}
	}
	wantEntries(t, r.entries(0), `("ann", "hi") 2`, `("ann", "there") 1`, `("bob", "hi") 1`)
}

func start2(t *testing.T, spout, operators string) *running {
	t.Helper()
	p, err := one(spout, operators)
	return start(t, p, err)
}

func TestAggregatesAndTheirCells(t *testing.T) {
	r := start2(t, "decode: json, fields: {k: bigint, i: bigint, d: double, n: numeric, s: text}", `state:
  from: in
  groupBy: k
  persistentAggregate: {a: sum(i), b: sum(d), c: sum(n), d: min(i), e: max(d), f: min(n), g: max(s), h: avg(i), j: avg(d), k2: avg(n), l: count(), m: sum(i * 2), o: max(upper(s))}`)
	for _, v := range []string{`{"k":1,"i":5,"d":0.5,"n":"1.10","s":"x"}`, `{"k":1,"i":7,"d":0.25,"n":2,"s":"é"}`, `{"k":-1,"i":1,"d":1,"n":0,"s":""}`} {
		if err := r.feed(v); err != nil {
			t.Fatal(err)
		}
	}
	wantEntries(t, r.entries(0),
		`(1) 12 0.75 3.10 5 0.5 1.10 é 12 2 0.75 2 3.10 2 2 24 É`,
		`(-1) 1 1 0 1 1 0  1 1 1 1 0 1 1 2 `)
}

func TestExpressionsComputeExactly(t *testing.T) {
	for expression, want := range map[string]string{
		"i + 1": "8", "-i": "-7", "i * 1000000": "7000000", "i / 2": "3.5", "i % 4": "3", "abs(-i)": "7", "int(d)": "2", "float(n) * 2": "2.2",
		"n + 1": "2.10", "n * n": "1.2100", "i - n": "5.90", "n > 1": "true", "n == 1.10": "error", "n != n": "false", "numeric(\"0.1\") + n": "1.20",
		"string(n) + s": "1.10Word", "upper(s)[1:3]": "OR", "len(s)": "4", "s startsWith 'W'": "true", "s matches '^w'": "false", "int(s)": "error",
		"trim('  x ')": "x", "d > 2 ? s : 'no'": "Word", "i in [1, 7]": "true", "int('42')": "42", "replace(s, 'o', '0')": "W0rd", "ok and not (i > 9)": "true",
		"9223372036854775807 + i": "error", "i * 9223372036854775807": "error", "-9223372036854775807 - i": "error", "i % 0": "error", "int(1e300)": "error",
		"abs(abs(n - 2) - 1)": "0.10", "let x = n - 2; abs(x) * 2": "1.80", "abs((n + 1) - 2) - i": "-6.90", "ok ? n - 1 : n": "0.10",
		"int(n - ok)": "error", "string(nosuch)": "error", "upper(nosuch)": "error", "upper(string(i + nosuch))": "error", "int(i + s)": "error", "abs(s)": "error", "(i - 1) * (i + 1) - i": "41", "n - d": "error",
		"len(map(1..3, #))": "error", "now()": "error", "nosuch": "error", "let x = i; x * x": "49", "numeric('x')": "error", "abs(n - 2)": "0.90",
	} {
		if got := evaluated(expression); got != want && !(want == "error" && strings.HasPrefix(got, "error")) {
			t.Errorf("%s = %s, want %s", expression, got, want)
		}
	}
}

func evaluated(source string) string {
	s := schema{{Name: "i", Type: "bigint"}, {Name: "d", Type: "double"}, {Name: "n", Type: "numeric"}, {Name: "s", Type: "text"}, {Name: "ok", Type: "boolean"}}
	e, err := compileExpression(source, s)
	if err != nil {
		return "error: " + err.Error()
	}
	v, err := e.evaluator()(Row{intValue(7), floatValue(2.5), textValue("1.10"), textValue("Word"), boolValue(true)})
	if err != nil {
		return "error: " + err.Error()
	}
	return v.format(e.kind)
}

func TestRecordThatFailsLeavesNothingBehind(t *testing.T) {
	r := start2(t, "decode: text", `words: {from: in, flatMap: 'split(value, " ")', as: word}
numbers: {from: words, map: {n: int(word)}}
sums: {from: numbers, groupBy: [n], persistentAggregate: {total: sum(n)}}
counts: {from: words, groupBy: [word], persistentAggregate: {count: count()}}`)
	if err := r.feed("1 2 three"); err == nil || !strings.Contains(err.Error(), `numbers: int("three")`) {
		t.Errorf("error %v", err)
	}
	if err := r.feed("1 2"); err != nil {
		t.Fatal(err)
	}
	for i, e := range r.stage.Outs {
		want := map[runtime.OperatorID][]string{"sums": {`(1) 1`, `(2) 2`}, "counts": {`("1") 1`, `("2") 1`}}[e.To.Operator]
		wantEntries(t, r.entries(i), want...)
	}
}

func TestTextsThatPostgresCannotStoreAreRefused(t *testing.T) {
	cut, err := one("decode: text", "cut: {from: in, map: {half: 'value[0:1]'}}\ncounts: {from: cut, groupBy: [half], persistentAggregate: {count: count()}}")
	r := start(t, cut, err)
	if err := r.feed("éa"); !errors.Is(err, exchange.ErrKeyUTF8) {
		t.Errorf("half a letter: %v", err)
	}
	p, err := wordCountInGo()
	r = start(t, p, err)
	if err := r.feed("a\x00b"); !errors.Is(err, exchange.ErrKeyNUL) {
		t.Errorf("NUL: %v", err)
	}
	if err := r.feed("a\xff"); !errors.Is(err, exchange.ErrKeyUTF8) {
		t.Errorf("invalid UTF-8: %v", err)
	}
}

func TestMergedStreamsAreCountedOnce(t *testing.T) {
	r := start2(t, "decode: text", `long: {from: in, filter: 'len(value) > 3'}
short: {from: in, filter: 'len(value) <= 3'}
counts: {from: [long, short], groupBy: [value], persistentAggregate: {count: count()}}`)
	for _, v := range []string{"one", "four", "one"} {
		if err := r.feed(v); err != nil {
			t.Fatal(err)
		}
	}
	wantEntries(t, r.entries(0), `("one") 2`, `("four") 1`)
}
