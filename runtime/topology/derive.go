package topology

import (
	"fmt"
	"slices"

	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
)

// Plan derives what runs: stages, exchanges, tables and guarantees. Its error is Problems, all of them.
// Nothing may be added to the topology afterwards.
func (b *Builder) Plan() (*Plan, error) {
	p := &Plan{Name: b.name, Kafka: b.kafka}
	b.checkGraph()
	keyed := make(map[*node]*Keyed)
	for _, n := range b.nodes {
		if n.keyed != nil {
			keyed[n] = b.deriveKeyed(p, n)
		}
	}
	for _, n := range b.nodes {
		if n.spout != nil {
			p.Stages = append(p.Stages, spoutStage(n, keyed))
		}
	}
	for _, n := range b.nodes {
		if n.keyed != nil && !n.keyed.config.PartitionedByKey {
			p.Stages = append(p.Stages, keyedStage(n, keyed))
		}
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// checkGraph looks for what is wrong between operators.
func (b *Builder) checkGraph() {
	if len(b.nodes) == 0 {
		b.add(place{}, "nothing is read; a topology needs a spout and an operator that keeps its state")
	}
	views := make(map[string]string)
	for _, n := range b.nodes {
		switch {
		case n.keyed == nil && len(n.consumers) == 0:
			b.add(n.at, "nothing reads %s; let an operator keep what it makes, or take it out", n.name)
		case n.keyed != nil:
			view := n.keyed.config.Table
			if other, used := views[view]; used {
				b.add(n.at, "operator %s: the table %s is that of %s; choose another name with table", n.name, view, other)
			}
			views[view] = n.name
		}
	}
}

// deriveKeyed plans the state of one operator, and its guarantee.
func (b *Builder) deriveKeyed(p *Plan, n *node) *Keyed {
	k := n.keyed
	if err := k.checkDirect(b.feeders(n)); err != nil {
		b.add(n.at, "operator %s: %v", n.name, err)
	}
	keyed := &Keyed{
		Operator: n.operator(), Table: k.table(n), Layout: k.layout, Combine: k.combine, Buckets: k.config.Buckets,
		Signature: k.signature(), Reduce: k.reducer(),
	}
	if spouts := b.spoutsOf(n); len(spouts) > 0 {
		g, err := k.guarantee(n, spouts)
		if err != nil {
			b.add(n.at, "operator %s: %v", n.name, err)
		}
		keyed.Table.Kind = g.State
		p.Outputs = append(p.Outputs, g)
	}
	p.Warnings = append(p.Warnings, k.warnings(n)...)
	return keyed
}

// reducer is nil where the store folds without reading.
func (k *keyedNode) reducer() Reduce {
	switch {
	case k.reduceTuples != nil:
		return guardReduce(k.reduceTuples)
	case k.emit != nil:
		return reduceCells(k.values)
	}
	return nil
}

func (k *keyedNode) warnings(n *node) []string {
	c := k.config
	if c.Parallelism > 1 && c.Parallelism > c.Buckets/4 && !c.PartitionedByKey {
		return []string{fmt.Sprintf("%s: parallelism %d is more than a quarter of its %d buckets, too few to spread load evenly; "+
			"buckets are fixed for the operator's life, so choose at least %d now", n.name, c.Parallelism, c.Buckets, 4*c.Parallelism)}
	}
	return nil
}

// feeders are the spouts and states whose stages end at n.
func (b *Builder) feeders(n *node) []*node {
	var found []*node
	for _, f := range b.nodes {
		if (f.spout != nil || f.keyed != nil) && slices.Contains(ends(f), n) {
			found = append(found, f)
		}
	}
	return found
}

// spoutsOf are the spouts that reach n, through other states too.
func (b *Builder) spoutsOf(n *node) []*node {
	var spouts []*node
	for _, f := range b.feeders(n) {
		reached := []*node{f}
		if f.spout == nil {
			reached = b.spoutsOf(f)
		}
		for _, s := range reached {
			if !slices.Contains(spouts, s) {
				spouts = append(spouts, s)
			}
		}
	}
	return spouts
}

func (k *keyedNode) checkDirect(feeders []*node) error {
	if !k.config.PartitionedByKey || len(feeders) == 1 && feeders[0].spout != nil {
		return nil
	}
	return fmt.Errorf("partitionedByKey needs exactly one spout and no state between, because the partitions of its topic are the buckets; leave it out")
}

// fused are the operators that run in the stage of n, n first, and ends the states behind it.
func fused(n *node) (inside, states []*node) {
	inside = []*node{n}
	for i := 0; i < len(inside); i++ {
		for _, c := range inside[i].consumers {
			to := &inside
			if c.keyed != nil {
				to = &states
			}
			if !slices.Contains(*to, c) {
				*to = append(*to, c)
			}
		}
	}
	return inside, states
}

func ends(n *node) []*node {
	_, states := fused(n)
	return states
}

// stage plans what is common to both kinds of stages.
func stage(n *node, parallelism int, keyed map[*node]*Keyed) (s *Stage, states []*node) {
	inside, states := fused(n)
	s = &Stage{Operator: n.operator(), Parallelism: max(parallelism, 1)}
	for _, o := range inside {
		if o.hidden {
			continue
		}
		s.Operators = append(s.Operators, o.name)
	}
	for _, end := range states {
		direct := end.keyed.config.PartitionedByKey
		if direct {
			s.Operators = append(s.Operators, end.name)
		}
		s.Outs = append(s.Outs, &Edge{To: keyed[end], Direct: direct})
	}
	return s, states
}

func spoutStage(n *node, keyed map[*node]*Keyed) *Stage {
	s, states := stage(n, n.spout.config.Parallelism, keyed)
	s.Spout = n.spoutOf()
	s.Source = func(outs []*exchange.Table) func(int32, *broker.Record) error {
		handle := n.spout.read(newInstance(states, outs))
		return func(_ int32, r *broker.Record) (err error) {
			defer guard(&err)
			return handle(r)
		}
	}
	return s
}

func keyedStage(n *node, keyed map[*node]*Keyed) *Stage {
	s, states := stage(n, n.keyed.config.Parallelism, keyed)
	s.Keyed = keyed[n]
	if n.keyed.emit != nil {
		s.Keyed.Emit = func(outs []*exchange.Table) func([]byte, []any) error {
			hand := n.keyed.emit(newInstance(states, outs))
			return func(key []byte, row []any) (err error) {
				defer guard(&err)
				return hand(key, row)
			}
		}
	}
	return s
}

func newInstance(states []*node, outs []*exchange.Table) *instance {
	in := &instance{tables: make(map[*node]*exchange.Table, len(outs)), built: make(map[*node]any)}
	for i, s := range states {
		in.tables[s] = outs[i]
	}
	return in
}

// guard makes a panic of a user's function the error of its tuple: one odd record must not stop the
// stream for ever.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

func guardReduce(reduce Reduce) Reduce {
	return func(key []byte, old []any, e exchange.Entry) (row []any, err error) {
		defer guard(&err)
		return reduce(key, old, e)
	}
}
