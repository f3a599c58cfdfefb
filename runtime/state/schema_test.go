package state_test

import (
	"strings"
	"testing"

	"github.com/selfregulating/sr/runtime/state"
)

func wordCounts() state.Table {
	return state.Table{
		Operator: "counts",
		View:     "word_counts",
		Keys:     []state.Column{{Name: "word", Type: state.Text}},
		Values:   []state.Aggregate{{Name: "count", Fold: state.FoldCount, Type: state.Bigint}},
		Kind:     state.Transactional,
		Buckets:  64,
	}
}

func TestTableIsValid(t *testing.T) {
	for name, change := range map[string]func(*state.Table){
		"as it is":              func(*state.Table) {},
		"no view":               func(t *state.Table) { t.View = "" },
		"ungrouped":             func(t *state.Table) { t.Keys = nil },
		"kind left to the plan": func(t *state.Table) { t.Kind = state.Auto },
		"kind not given":        func(t *state.Table) { t.Kind = "" },
		"longest names": func(t *state.Table) {
			t.Keys[0].Name = strings.Repeat("k", 63)
			t.Values[0].Name = strings.Repeat("v", 58)
		},
		"a reduced document": func(t *state.Table) {
			t.Values[0] = state.Aggregate{Name: "profile", Fold: state.FoldReduce, Type: state.JSONB}
		},
	} {
		table := wordCounts()
		change(&table)
		if err := table.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTableSaysWhatIsWrong(t *testing.T) {
	for want, change := range map[string]func(*state.Table){
		`operator "": the name is empty`:                         func(t *state.Table) { t.Operator = "" },
		`operator "a b": the name holds ' '`:                     func(t *state.Table) { t.Operator = "a b" },
		`view "public.words": the name holds '.'`:                func(t *state.Table) { t.View = "public.words" },
		`view "mots_é": the name holds 'é'`:                      func(t *state.Table) { t.View = "mots_é" },
		`kind "exact" is unknown`:                                func(t *state.Table) { t.Kind = "exact" },
		`buckets is 0`:                                           func(t *state.Table) { t.Buckets = 0 },
		`there is no value column`:                               func(t *state.Table) { t.Values = nil },
		`key column "bucket": the name is reserved`:              func(t *state.Table) { t.Keys[0].Name = "bucket" },
		`value column "txid": the name is reserved`:              func(t *state.Table) { t.Values[0].Name = "txid" },
		`key column "xmin": the name is reserved`:                func(t *state.Table) { t.Keys[0].Name = "xmin" },
		`value column "prev_count": names that begin with prev_`: func(t *state.Table) { t.Values[0].Name = "prev_count" },
		`value column "word": the name is used twice`:            func(t *state.Table) { t.Values[0].Name = "word" },
		`key column "a\"b": the name holds '"'`:                  func(t *state.Table) { t.Keys[0].Name = `a"b` },
		`the name has 64 bytes; at most 63 fit`:                  func(t *state.Table) { t.Keys[0].Name = strings.Repeat("k", 64) },
		`the name has 59 bytes; at most 58 fit`:                  func(t *state.Table) { t.Values[0].Name = strings.Repeat("v", 59) },
		`key column "word": type "jsonb" cannot be a key`:        func(t *state.Table) { t.Keys[0].Type = state.JSONB },
		`value column "count": fold "median" is unknown`:         func(t *state.Table) { t.Values[0].Fold = "median" },
		`value column "count": count cannot be of type "double"`: func(t *state.Table) { t.Values[0].Type = state.Double },
		`value column "count": reduce cannot be of type "boolean"; it is`: func(t *state.Table) {
			t.Values[0] = state.Aggregate{Name: "count", Fold: state.FoldReduce, Type: state.Boolean}
		},
	} {
		table := wordCounts()
		change(&table)
		if err := table.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
}
