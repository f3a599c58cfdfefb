package topology

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

type order struct {
	User   string  `json:"user"`
	Amount int64   `json:"amount"`
	Price  Numeric `json:"price"`
}

func orders(b *Builder) Stream[order] {
	return From(b, "orders", Kafka{Topic: "orders"}, JSON[order]())
}

func byUser(s Stream[order]) Grouped[order] {
	return GroupBy(s, By("user", func(o order) string { return o.User }))
}

// fold feeds the entries of the first table to the state's Reduce, as a worker does.
func (r *running) fold(into map[string][]any) {
	r.t.Helper()
	k := r.stage.Outs[0].To
	for b := range r.tables[0].Buckets() {
		for e := range r.tables[0].Bucket(int32(b)).All() {
			row, err := k.Reduce(e.Key, into[string(e.Key)], *e)
			if err != nil {
				r.t.Fatal(err)
			}
			into[string(e.Key)] = row
		}
	}
}

func TestReduceToFoldsTupleByTuple(t *testing.T) {
	type last struct{ Amounts []int64 }
	b := New("test")
	PersistentAggregate(byUser(orders(b)), "kept", StateConfig{},
		ReduceTo("last", func() last { return last{} }, func(l last, o order) (last, error) {
			l.Amounts = append(l.Amounts, o.Amount)
			return l, nil
		}),
		Count[order]("orders"), Sum("total", func(o order) Numeric { return o.Price }), Min("least", func(o order) int64 { return o.Amount }),
		Max("name", func(o order) string { return o.User }))
	p, err := b.Plan()
	r := start(t, p, err)
	rows := make(map[string][]any)
	for _, v := range []string{`{"user":"ann","amount":5,"price":"1.10"}`, `{"user":"bob","amount":1,"price":"1"}`, `{"user":"ann","amount":3,"price":"2"}`} {
		if err := r.feed(v); err != nil {
			t.Fatal(err)
		}
	}
	r.fold(rows)
	r.tables[0].Reset()
	if err := r.feed(`{"user":"ann","amount":4,"price":"0.05"}`); err != nil {
		t.Fatal(err)
	}
	r.fold(rows)
	ann := rows[string(exchange.AppendText(nil, "ann"))]
	if want := []any{`{"Amounts":[5,3,4]}`, int64(3), "3.15", int64(3), "ann"}; !reflect.DeepEqual(ann, want) {
		t.Errorf("got %v, want %v", ann, want)
	}
}

func TestReduceErrorsAndPanicsAreThoseOfTheTuple(t *testing.T) {
	b := New("test")
	PersistentAggregate(byUser(orders(b)), "kept", StateConfig{}, ReduceTo("n", func() int64 { return 0 },
		func(acc int64, o order) (int64, error) {
			if o.Amount == 0 {
				return 0, errors.New("no amount")
			}
			return acc + 10/(o.Amount-1), nil
		}))
	p, err := b.Plan()
	r := start(t, p, err)
	for value, want := range map[string]string{`{"amount":0}`: "reducing n: no amount", `{"amount":1}`: "panic: runtime error: integer divide by zero"} {
		r.tables[0].Reset()
		if err := r.feed(value); err != nil {
			t.Fatal(err)
		}
		for b := range r.tables[0].Buckets() {
			for e := range r.tables[0].Bucket(int32(b)).All() {
				if _, err := p.Stages[0].Outs[0].To.Reduce(e.Key, nil, *e); err == nil || err.Error() != want {
					t.Errorf("%s: %v, want %s", value, err, want)
				}
			}
		}
	}
}

func TestPanicOfAFunctionIsAnErrorOfItsRecord(t *testing.T) {
	b := New("test")
	s := Map(From(b, "in", Kafka{Topic: "in"}, Text), "third", func(s string) (string, error) { return s[2:3], nil })
	PersistentAggregate(GroupBy(s, ByText("letter")), "kept", StateConfig{}, Count[string]("count"))
	p, err := b.Plan()
	r := start(t, p, err)
	if err := r.feed("a"); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("error %v", err)
	}
	if err := r.feed("abc"); err != nil {
		t.Error(err)
	}
	wantEntries(t, r.entries(0), `("c") 1`)
}

func TestNewValuesFeedAnotherState(t *testing.T) {
	b := New("test")
	words := Split(From(b, "in", Kafka{Topic: "in"}, Text), "words", " ")
	counts := PersistentAggregate(GroupBy(words, ByText("word")), "counts", StateConfig{}, Count[string]("count"))
	PersistentAggregate(GroupBy(NewValues(counts), By("count", func(kv KeyValue) int64 { return kv.Values[0].(int64) })), "words_by_count",
		StateConfig{}, Max("greatest", func(kv KeyValue) string { return kv.Key[0].(string) }), Count[KeyValue]("times"))
	p, err := b.Plan()
	r := start(t, p, err)
	if err := r.feed("b a b"); err != nil {
		t.Fatal(err)
	}
	rows := make(map[string][]any)
	r.fold(rows)
	second := p.Stages[1]
	table := tableFor(t, second.Outs[0].To)
	emit := second.Keyed.Emit([]*exchange.Table{table})
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if err := emit([]byte(key), rows[key]); err != nil {
			t.Fatal(err)
		}
		if err := table.CommitRecord(); err != nil {
			t.Fatal(err)
		}
	}
	wantEntries(t, entriesOf(table, second.Outs[0].To.Layout), `(1) a 1`, `(2) b 1`)
	if p.Outputs[1].Promise != "exactly once" || len(p.Stages) != 3 {
		t.Errorf("%+v", p.Outputs)
	}
}

func TestEveryPairOfExactSpoutAndStateIsExactlyOnce(t *testing.T) {
	for _, spout := range []SpoutKind{Opaque, Transactional} {
		for kind, want := range map[state.Kind]state.Kind{
			state.Auto: state.Transactional, state.Transactional: state.Transactional, state.Opaque: state.Opaque, state.NonTransactional: state.NonTransactional,
		} {
			b := New("test")
			s := From(b, "in", Kafka{Topic: "in", Kind: spout}, Text)
			PersistentAggregate(GroupBy(s, ByText("word")), "counts", StateConfig{Kind: kind}, Count[string]("count"))
			p, err := b.Plan()
			if err != nil {
				t.Fatal(err)
			}
			if g := p.Outputs[0]; g.Promise != "exactly once" || g.State != want || p.Stages[1].Keyed.Table.Kind != want || g.Why == "" || g.Cost == "" {
				t.Errorf("%s spout, %s state: %+v", spout, kind, g)
			}
		}
	}
}

func TestSignatureIsThatOfWhatTravels(t *testing.T) {
	plan := func(config StateConfig, aggregates ...Aggregate[order]) *Plan {
		b := New("test")
		PersistentAggregate(byUser(orders(b)), "kept", config, aggregates...)
		p, err := b.Plan()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	blocks := func(p *Plan) uint64 { return p.Stages[0].Outs[0].To.Signature }
	amount := func(o order) int64 { return o.Amount }
	base := plan(StateConfig{}, Sum("x", amount))
	if same := plan(StateConfig{Parallelism: 4, Kind: state.Opaque}, Sum("x", amount)); blocks(same) != blocks(base) || same.Signature() == base.Signature() {
		t.Error("parallelism and kind belong to the plan, not to the blocks")
	}
	for name, other := range map[string]*Plan{
		"fold": plan(StateConfig{}, Max("x", amount)), "name": plan(StateConfig{}, Sum("y", amount)),
		"type":    plan(StateConfig{}, Sum("x", func(o order) float64 { return 0 })),
		"combine": plan(StateConfig{CombineOff: true}, Sum("x", amount)),
	} {
		if blocks(other) == blocks(base) {
			t.Errorf("another %s has the same signature", name)
		}
	}
}

func TestBuilderTellsAllThatIsWrong(t *testing.T) {
	b := New("Test")
	s := From(b, "in", Kafka{}, Text)
	PersistentAggregate(GroupBy(s, By("k", func(s string) bool { return s == "" })), "in", StateConfig{Table: "no table", Kind: "best"}, Count[string]("k"))
	direct := PersistentAggregate(GroupBy(Split(s, "split", ""), ByText("w")), "means", StateConfig{PartitionedByKey: true}, Avg("m", func(s string) float64 { return 1 }))
	Filter(NewValues(direct), "lost", func(KeyValue) bool { return true })
	_, err := b.Plan()
	for _, want := range []string{
		`"Test" cannot be a name`, `"" is not the name of a Kafka topic`, "the name in is used twice", `table "no table"`, `"best" is unknown`,
		"the separator is empty", "the mean m cannot be read", "partitionedByKey cannot be read", "nothing reads lost",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
}
