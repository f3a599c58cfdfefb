package topology

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxOperators bounds what a topology file may hold.
const maxOperators = 1000

// Parse reads a topology file. name stands for the file in messages. The error is Problems: all that
// was found, each with line, column and what to do. Data of any kind is safe to parse.
func Parse(name string, data []byte) (*Plan, error) {
	r := &reader{report: &report{file: name}}
	root := r.document(data)
	if root == nil {
		return nil, r.err()
	}
	doc := r.topology(root)
	c := newCompiler(r, doc)
	for i := range doc.spouts {
		c.spout(&doc.spouts[i])
	}
	for i := range doc.operators {
		c.operator(&doc.operators[i])
	}
	if c.torn {
		return nil, r.err() // what the plan would say of the rest is a consequence
	}
	return c.b.Plan()
}

// compiler makes the graph of a document.
type compiler struct {
	*reader
	b       *Builder
	doc     *document
	streams map[string]*rows
	// torn tells that some operator could not be made.
	torn bool
	// underWay are the operators whose inputs are being made, outermost first.
	underWay []string
	done     map[string]bool
}

// rows is a stream of rows, or a state, which cannot be read.
type rows struct {
	stream  Stream[Row]
	schema  schema
	isState bool
}

func newCompiler(r *reader, doc *document) *compiler {
	c := &compiler{
		reader: r, doc: doc, streams: make(map[string]*rows), done: make(map[string]bool),
		b: &Builder{name: doc.name, kafka: doc.kafka, byName: make(map[string]*node), report: r.report},
	}
	switch {
	case doc.name == "":
		r.add(doc.nameAt, "topology is missing; begin the file with topology: and a name")
	default:
		if err := checkName(doc.name, maxTopologyName); err != nil {
			r.add(doc.nameAt, "%v", err)
		}
	}
	if len(doc.spouts) == 0 {
		r.add(doc.nameAt, "spouts is missing; name at least one topic to read, like spouts: {sentences: {topic: sentences}}")
	}
	if len(doc.operators) == 0 {
		r.add(doc.nameAt, "operators is missing; name at least one that keeps its state")
	}
	if n := len(doc.spouts) + len(doc.operators); n > maxOperators {
		r.add(doc.nameAt, "there are %d spouts and operators, at most %d are read", n, maxOperators)
		doc.spouts, doc.operators = nil, nil
	}
	return c
}

func (c *compiler) spout(s *spoutEntry) {
	decoder, fields := c.decoder(s)
	if s.config.Topic == "" {
		if !s.topicGiven && s.isMapping {
			c.add(s.at, "spout %s: topic is missing; name the Kafka topic to read", clip(s.name))
		}
		s.config.Topic = "missing"
	}
	c.streams[s.name] = &rows{stream: readFrom(c.b, s.at, s.name, s.config, decoder), schema: fields}
}

// operator makes an operator, after those that it reads. It is nil if that is impossible.
func (c *compiler) operator(o *operatorEntry) *rows {
	if c.done[o.name] {
		return c.streams[o.name]
	}
	if i := slices.Index(c.underWay, o.name); i >= 0 {
		c.add(o.at, "operator %s reads itself: %s; a topology has no cycles", clip(o.name), strings.Join(append(c.underWay[i:], o.name), " reads "))
		return nil
	}
	c.underWay = append(c.underWay, o.name)
	input := c.input(o)
	c.underWay = c.underWay[:len(c.underWay)-1]
	c.done[o.name] = true
	made := c.operation(o, input)
	if made == nil {
		c.torn = true
	} else if c.streams[o.name] == nil { // else a spout has the name, which is reported
		c.streams[o.name] = made
	}
	return made
}

// input is the stream, or the merged streams, that an operator reads.
func (c *compiler) input(o *operatorEntry) *rows {
	var inputs []*rows
	complete := true
	for _, from := range o.from {
		in := c.named(from)
		switch {
		case in == nil:
			complete = false
		case in.isState:
			c.add(where(from), "%s keeps state; the stream of its new values can be read in Go only (NewValues)", from.Value)
			complete = false
		case len(inputs) > 0 && !slices.Equal(inputs[0].schema, in.schema):
			c.add(where(from), "%s has the fields %s, but %s has %s; make them alike with map before merging them",
				from.Value, fieldWords(in.schema), o.from[0].Value, fieldWords(inputs[0].schema))
			complete = false
		default:
			inputs = append(inputs, in)
		}
	}
	if !complete || len(inputs) == 0 {
		return nil
	}
	return c.merged(o, inputs)
}

// merged makes one stream of several, under no name of its own.
func (c *compiler) merged(o *operatorEntry, inputs []*rows) *rows {
	if len(inputs) == 1 {
		return inputs[0]
	}
	streams := make([]Stream[Row], len(inputs))
	for i, in := range inputs {
		streams[i] = in.stream
	}
	if len(c.operations(o)) == 0 {
		return &rows{stream: merge(&node{name: o.name, at: o.at}, streams), schema: inputs[0].schema}
	}
	return &rows{stream: merge(&node{hidden: true}, streams), schema: inputs[0].schema}
}

// named finds what a from names.
func (c *compiler) named(from *yaml.Node) *rows {
	for i := range c.doc.operators {
		if o := &c.doc.operators[i]; o.name == from.Value {
			return c.operator(o)
		}
	}
	if in := c.streams[from.Value]; in != nil {
		return in
	}
	var known []string
	for _, s := range c.doc.spouts {
		known = append(known, s.name)
	}
	for _, o := range c.doc.operators {
		known = append(known, o.name)
	}
	c.add(where(from), "there is no spout or operator %s%s", clip(from.Value), didYouMean(from.Value, known))
	return nil
}

// operations are the keys of an entry that say what it does.
func (c *compiler) operations(o *operatorEntry) []string {
	var keys []string
	for _, k := range []struct {
		key  string
		node *yaml.Node
	}{{"filter", o.filter}, {"map", o.maps}, {"flatMap", o.flatMap}, {"persistentAggregate", o.aggregates}} {
		if k.node != nil {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// operation makes what the entry does to its input, which may be nil: then as much as possible is
// checked without.
func (c *compiler) operation(o *operatorEntry, in *rows) *rows {
	keys := c.operations(o)
	switch {
	case len(keys) > 1:
		c.add(o.at, "operator %s does %s; make an operator of each", clip(o.name), strings.Join(keys, " and "))
		return nil
	case o.groupByAt != nil && o.aggregates == nil:
		c.add(where(o.groupByAt), "groupBy does nothing alone; say what to keep with persistentAggregate: {count: count()}")
		return nil
	case !o.isMapping:
		return nil
	case len(keys) == 0 && len(o.from) < 2:
		c.add(o.at, "operator %s does nothing; give it filter, map, flatMap, or groupBy with persistentAggregate", clip(o.name))
		return nil
	}
	if o.aggregates == nil {
		for _, n := range o.stateKeys {
			c.add(where(n), "this belongs to an operator that keeps state; move it to one with persistentAggregate")
		}
	}
	if o.as != nil && o.flatMap == nil {
		c.add(where(o.as), "as belongs to flatMap; leave it out, or name the fields with map")
	}
	if in == nil {
		return nil
	}
	switch {
	case o.filter != nil:
		return c.filter(o, in)
	case o.maps != nil:
		return c.project(o, in)
	case o.flatMap != nil:
		return c.flatMap(o, in)
	case o.aggregates != nil:
		return c.keep(o, in)
	}
	return in // merged
}

func fieldWords(s schema) string {
	words := make([]string, len(s))
	for i, f := range s {
		words[i] = fmt.Sprintf("%s %s", f.Name, f.Type)
	}
	return strings.Join(words, ", ")
}
