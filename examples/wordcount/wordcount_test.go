package wordcount_test

import (
	"maps"
	"os"
	"testing"

	"github.com/selfregulating/sr/examples/wordcount"
	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/topology"
)

func TestGoAndYAMLAreOneTopology(t *testing.T) {
	inGo, inYAML := plans(t)
	if inGo.Signature() != inYAML.Signature() {
		t.Errorf("signatures differ:\nGo   %+v\nYAML %+v", inGo.Describe(), inYAML.Describe())
	}
}

func TestWordsAreCountedAsTheyStand(t *testing.T) {
	inGo, inYAML := plans(t)
	sentences := []string{"the man and the dog", " the  dog, The apple ", "", "   ", "dog"}
	want := map[string]int64{"the": 3, "man": 1, "and": 1, "dog": 2, "dog,": 1, "The": 1, "apple": 1}
	for name, plan := range map[string]*topology.Plan{"Go": inGo, "YAML": inYAML} {
		if got := count(t, plan, sentences); !maps.Equal(got, want) {
			t.Errorf("%s counts %v, want %v", name, got, want)
		}
	}
}

func plans(t *testing.T) (inGo, inYAML *topology.Plan) {
	t.Helper()
	inGo, err := wordcount.Topology().Plan()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("topology.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if inYAML, err = topology.Parse("topology.yaml", text); err != nil {
		t.Fatal(err)
	}
	return inGo, inYAML
}

// count runs the first stage of a plan in memory, and reads its table.
func count(t *testing.T, plan *topology.Plan, sentences []string) map[string]int64 {
	t.Helper()
	stage := plan.Stages[0]
	keyed := stage.Outs[0].To
	shape, err := exchange.NewShape(keyed.Layout, keyed.Combine)
	if err != nil {
		t.Fatal(err)
	}
	table := exchange.NewTable(shape, keyed.Buckets)
	handle := stage.Source([]*exchange.Table{table})
	for i, s := range sentences {
		if err := handle(0, &broker.Record{Offset: int64(i), Value: []byte(s)}); err != nil {
			t.Fatal(err)
		}
		if err := table.CommitRecord(); err != nil {
			t.Fatal(err)
		}
	}
	counts := make(map[string]int64)
	for b := range keyed.Buckets {
		for e := range table.Bucket(runtime.Bucket(b)).All() {
			word, _, err := exchange.NextField(e.Key)
			if err != nil {
				t.Fatal(err)
			}
			counts[string(word.Text())] += e.Int(0)
		}
	}
	return counts
}
