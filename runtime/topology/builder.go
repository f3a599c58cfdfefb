package topology

import (
	"github.com/selfregulating/sr/runtime/exchange"
)

// Builder gathers the operators of a topology. What is wrong is kept and told by Plan, so that the
// functions that build need no error of their own.
type Builder struct {
	name   string
	kafka  *KafkaSettings
	nodes  []*node // in order of declaration
	byName map[string]*node
	*report
}

// New starts a topology. Its name and those of its operators are lower-case letters, digits and single
// underscores, a letter first: they become parts of topic and table names.
func New(name string) *Builder {
	b := &Builder{name: name, byName: make(map[string]*node), report: &report{file: name}}
	if err := checkName(name, maxTopologyName); err != nil {
		b.add(place{}, "%v", err)
	}
	return b
}

// Stream is a stream of tuples of type T, made by one operator. Strings and bytes in the tuples are
// views into the record they come from: valid until the function that is given them returns, to be
// cloned if kept longer. Streams are values; one that is used twice feeds both users.
type Stream[T any] struct {
	b *Builder
	n *node
	// checked tells that every text of a tuple is valid UTF-8 without NUL.
	checked bool
}

// node is an operator in the graph. Its functions are typed; here they are erased, because the graph
// does not care: build returns a func(In) error where In is the type of the streams it reads.
type node struct {
	name string
	at   place
	// hidden nodes have no name: they are part of the operator behind them.
	hidden    bool
	consumers []*node
	// build makes the function of the operator, with everything behind it fused in, for one instance.
	build func(in *instance) any
	// spout is set on sources, keyed on operators that keep state.
	spout *spoutNode
	keyed *keyedNode
}

// instance is what the functions of one instance share.
type instance struct {
	tables map[*node]*exchange.Table
	// built are the functions made so far: an operator that is reached on two ways is one function.
	built map[*node]any
}

func (in *instance) build(n *node) any {
	f, done := in.built[n]
	if !done {
		f = n.build(in)
		in.built[n] = f
	}
	return f
}

// insert adds an operator to the graph, behind those it reads.
func (b *Builder) insert(n *node, from ...*node) {
	for _, f := range from {
		f.consumers = append(f.consumers, n)
	}
	if n.hidden {
		return
	}
	b.nodes = append(b.nodes, n)
	switch err := checkName(n.name, maxOperatorName); {
	case err != nil:
		b.add(n.at, "%v", err)
	case b.byName[n.name] != nil:
		b.add(n.at, "the name %s is used twice; spouts and operators need names of their own", n.name)
	default:
		b.byName[n.name] = n
	}
}

// downstream is the function that hands a tuple to every reader of n.
func downstream[T any](n *node, in *instance) func(T) error {
	readers := make([]func(T) error, len(n.consumers))
	for i, c := range n.consumers {
		readers[i] = in.build(c).(func(T) error)
	}
	if len(readers) == 1 {
		return readers[0]
	}
	return func(tuple T) error {
		for _, read := range readers {
			if err := read(tuple); err != nil {
				return err
			}
		}
		return nil
	}
}

// attach adds a stateless operator. compile makes its function for one instance, given the function
// that takes what it emits; memory that the function needs again and again belongs to that closure.
func attach[T, U any](at place, s Stream[T], name string, checked bool, compile func(emit func(U) error) func(T) error) Stream[U] {
	n := &node{name: name, at: at}
	n.build = func(in *instance) any { return compile(downstream[U](n, in)) }
	s.b.insert(n, s.n)
	return Stream[U]{b: s.b, n: n, checked: checked}
}
