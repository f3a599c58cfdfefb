package topology

import (
	"fmt"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

// StateConfig says how the state of a PersistentAggregate is kept. Every zero field is its default.
type StateConfig struct {
	// Table is the view over the rows; the operator's name by default.
	Table string
	// Kind is the rule of the rows; state.Auto by default: the cheapest that is exact.
	Kind state.Kind
	// Guarantee has to be named for what is less than exactly once; see Promise.
	Guarantee Promise
	// Parallelism is the number of instances, 1 by default.
	Parallelism int
	// Buckets is the number of partitions of the exchange, 64 by default (1 without a key). It is
	// fixed for the operator's life.
	Buckets int
	// CombineOff sends every tuple through the exchange, without partial aggregates before it.
	CombineOff bool
	// PartitionedByKey says that the source topic is partitioned by the key already, so that no
	// exchange is needed: every source partition is a bucket.
	PartitionedByKey bool
}

// DefaultBuckets is the number of buckets of an operator that does not say.
const DefaultBuckets = 64

// maxBuckets bounds the partitions of one exchange topic.
const maxBuckets = 16384

// State is an operator that keeps state by key.
type State struct {
	b *Builder
	n *node
}

// keyedNode is what a Keyed is made of.
type keyedNode struct {
	config StateConfig
	keys   []state.Column
	values []state.Aggregate
	// layout, combine and codec are what travels.
	layout  exchange.Layout
	combine bool
	codec   string
	// reduceTuples is set if some aggregate is a ReduceTo.
	reduceTuples Reduce
	// emit makes the function that new values are given to.
	emit func(in *instance) func(key []byte, row []any) error
}

// PersistentAggregate keeps aggregates of a grouped stream in a table.
func PersistentAggregate[T any](g Grouped[T], name string, config StateConfig, aggregates ...Aggregate[T]) State {
	return keep(place{}, g, name, config, aggregates)
}

func keep[T any](at place, g Grouped[T], name string, config StateConfig, aggregates []Aggregate[T]) State {
	b := g.stream.b
	k := &keyedNode{config: config.withDefaults(name, len(g.keys)), combine: !config.CombineOff}
	n := &node{name: name, at: at, keyed: k}
	for _, key := range g.keys {
		k.keys = append(k.keys, key.column)
	}
	for _, a := range aggregates {
		k.values = append(k.values, a.column)
		k.layout = append(k.layout, a.cells...)
	}
	s := sink[T]{node: n, keys: g.keys, aggregates: aggregates, checked: g.stream.checked}
	if hasReduce(k.values) {
		s.codec, k.codec = g.codec.orJSON(), g.codec.name()
		k.layout, k.combine = exchange.Layout{exchange.Tuple}, false
		k.reduceTuples = reduceTuples(s.codec, aggregates)
	}
	n.build = func(in *instance) any { return s.build(in) }
	b.insert(n, g.stream.n)
	for _, err := range k.validate() {
		b.add(at, "operator %s: %v", name, err)
	}
	return State{b: b, n: n}
}

func (c Codec[T]) name() string {
	if c.Append == nil && c.Decode == nil {
		return "json"
	}
	return "own"
}

func hasReduce(values []state.Aggregate) bool {
	for _, v := range values {
		if v.Fold == state.FoldReduce {
			return true
		}
	}
	return false
}

func (c StateConfig) withDefaults(name string, keys int) StateConfig {
	if c.Table == "" {
		c.Table = name
	}
	if c.Kind == "" {
		c.Kind = state.Auto
	}
	if c.Parallelism == 0 {
		c.Parallelism = 1
	}
	if c.Buckets == 0 && !c.PartitionedByKey {
		c.Buckets = DefaultBuckets
		if keys == 0 {
			c.Buckets = 1
		}
	}
	return c
}

// validate answers with all that is wrong with the operator alone.
func (k *keyedNode) validate() (wrong []error) {
	c := k.config
	if err := checkView(c.Table); err != nil {
		wrong = append(wrong, err)
	}
	if err := k.checkColumns(); err != nil {
		wrong = append(wrong, err)
	}
	if len(k.layout) > exchange.MaxCells {
		wrong = append(wrong, fmt.Errorf("its aggregates need %d cells (a mean needs two), at most %d fit; keep some of them in a second operator",
			len(k.layout), exchange.MaxCells))
	}
	if c.Parallelism < 1 || c.Parallelism > maxParallelism {
		wrong = append(wrong, fmt.Errorf("parallelism is %d; it must be from 1 to %d", c.Parallelism, maxParallelism))
	}
	if c.PartitionedByKey {
		return append(wrong, c.validateDirect(len(k.keys))...)
	}
	if c.Buckets < 1 || c.Buckets > maxBuckets {
		wrong = append(wrong, fmt.Errorf("buckets is %d; it must be from 1 to %d", c.Buckets, maxBuckets))
	} else if c.Buckets < c.Parallelism {
		wrong = append(wrong, fmt.Errorf("buckets is %d, less than the parallelism of %d: the instances beyond would own nothing; raise buckets or lower parallelism",
			c.Buckets, c.Parallelism))
	}
	return wrong
}

func (c StateConfig) validateDirect(keys int) (wrong []error) {
	if c.Buckets != 0 {
		wrong = append(wrong, fmt.Errorf("buckets cannot be chosen with partitionedByKey: the partitions of the source are the buckets; leave it out"))
	}
	if c.Parallelism != 1 {
		wrong = append(wrong, fmt.Errorf("parallelism is the spout's with partitionedByKey, because there is no stage behind it; set it there"))
	}
	if keys == 0 {
		wrong = append(wrong, fmt.Errorf("partitionedByKey needs a key; group the stream by the fields that the topic is partitioned by"))
	}
	return wrong
}

// table describes the rows. Auto kinds are resolved by the plan.
func (k *keyedNode) table(n *node) *state.Table {
	return &state.Table{
		Operator: n.name, View: k.config.Table, Keys: k.keys, Values: k.values, Kind: k.config.Kind, Buckets: k.config.Buckets,
	}
}

// checkColumns asks the table itself, leaving out what is checked here in better words.
func (k *keyedNode) checkColumns() error {
	t := state.Table{Operator: "x", Keys: k.keys, Values: k.values, Kind: k.config.Kind, Buckets: 1}
	return unwrapped(t.Validate())
}

func unwrapped(err error) error {
	if inner, ok := err.(interface{ Unwrap() error }); ok && inner.Unwrap() != nil {
		return inner.Unwrap()
	}
	return err
}

func (n *node) operator() runtime.OperatorID { return runtime.OperatorID(n.name) }
