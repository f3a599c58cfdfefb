package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/selfregulating/sr/runtime/state"
)

// Promise is how often a tuple counts in an output. A topology has to name what is less than exactly
// once, so that nobody gets it unaware.
type Promise string

// The promises. NoPromise is what at-least-once and at-most-once give when they meet in one output.
const (
	ExactlyOnce Promise = "exactly-once"
	AtLeast     Promise = "at-least-once"
	AtMost      Promise = "at-most-once"
	NoPromise   Promise = "none"
)

// words is the promise as people read it.
func (p Promise) words() string { return strings.ReplaceAll(string(p), "-", " ") }

// String is the kind as YAML has it.
func (k SpoutKind) String() string {
	return [...]string{"opaque", "transactional", "at-least-once", "at-most-once"}[k&3]
}

// promise is what a spout lets an output promise.
func (k SpoutKind) promise() Promise {
	switch k {
	case AtLeastOnce:
		return AtLeast
	case AtMostOnce:
		return AtMost
	}
	return ExactlyOnce
}

// derivePromise is what all the spouts of an output let it promise, and the spout that decides it: the
// one whose replays are worst.
func derivePromise(spouts []*node) (Promise, *node) {
	promise, by := ExactlyOnce, spouts[0]
	for _, s := range spouts {
		p := s.spout.config.Kind.promise()
		switch {
		case p == promise && s.spout.config.Kind == Opaque:
			by = s
		case p == ExactlyOnce || p == promise:
		case promise == ExactlyOnce:
			promise, by = p, s
		default:
			return NoPromise, s
		}
	}
	return promise, by
}

// guarantee derives what is promised of a state, or why the topology is refused.
func (k *keyedNode) guarantee(n *node, spouts []*node) (Guarantee, error) {
	promise, by := derivePromise(spouts)
	kind, spout := k.config.Kind, by.spout.config.Kind
	if err := k.accepts(promise, by); err != nil {
		return Guarantee{}, err
	}
	if kind == state.Auto {
		kind = state.Transactional
		if promise != ExactlyOnce {
			kind = state.NonTransactional
		}
	}
	if promise != ExactlyOnce && kind != state.NonTransactional {
		return Guarantee{}, fmt.Errorf("kind: %s stands for exactly once, which the %s spout %s cannot give; leave kind out, or make the spout opaque or transactional",
			kind, spout, by.name)
	}
	return Guarantee{
		Output: n.name, Spout: spout, State: kind, Promise: promise.words(),
		Why: why(promise, spout, kind), Cost: k.cost(spouts, kind),
	}, nil
}

// accepts tells whether the topology named the promise that it gets.
func (k *keyedNode) accepts(promise Promise, by *node) error {
	named := k.config.Guarantee
	switch {
	case named == promise, named == "" && promise == ExactlyOnce:
		return nil
	case named == "":
		return fmt.Errorf("the spout %s is %s, so this state is not exactly once; write guarantee: %s to accept that, or make the spout opaque or transactional",
			by.name, by.spout.config.Kind, promise)
	}
	return fmt.Errorf("guarantee is %s, but what its spouts give is %s (%s is %s); write that, or change the spout's kind",
		clip(string(named)), promise, by.name, by.spout.config.Kind)
}

func why(promise Promise, spout SpoutKind, kind state.Kind) string {
	switch promise {
	case AtLeast:
		return "progress moves after the output: a failure between the two repeats a batch, and its tuples count again"
	case AtMost:
		return "progress moves before the output: a failure between the two loses a batch"
	case NoPromise:
		return "one of its spouts may repeat tuples and another may lose them"
	}
	rule := "rows and progress commit in one Postgres transaction"
	switch {
	case kind == state.NonTransactional:
		return rule + "; the rows carry no txid, so progress alone protects them"
	case kind == state.Transactional && spout == Opaque:
		return rule + ", so that the row's txid is safe though a replay may hold other tuples"
	}
	return rule + ", and a row that has the batch's txid is not counted twice"
}

// cost is what the guarantee takes, in words.
func (k *keyedNode) cost(spouts []*node, kind state.Kind) string {
	costs := []string{rowCosts[kind]}
	if slices.ContainsFunc(spouts, func(s *node) bool { return s.spout.config.Kind == Transactional }) {
		costs = append(costs, "one more commit for each batch, of the descriptor that pins it")
	}
	switch {
	case k.reduceTuples != nil:
		costs = append(costs, "every tuple travels alone, and rows are read before they are written")
	case k.emit != nil:
		costs = append(costs, "rows are read before they are written")
	case !k.combine:
		costs = append(costs, "every tuple travels alone")
	}
	return strings.Join(costs, "; ")
}

var rowCosts = map[state.Kind]string{
	state.NonTransactional: "nothing beside the values",
	state.Transactional:    "8 bytes a row for the txid",
	state.Opaque:           "a txid and the values before the last batch in every row, which is about twice as wide",
}
