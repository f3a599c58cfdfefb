package topology

import (
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"
)

// signature is the identity of what travels to a state. It depends on nothing else: not on the
// functions, not on the number of buckets, not on how the rows are kept.
func (k *keyedNode) signature() uint64 {
	var b strings.Builder
	b.WriteString("sr blocks 1\n")
	for _, key := range k.keys {
		fmt.Fprintf(&b, "key %s %s\n", key.Name, key.Type)
	}
	for _, v := range k.values {
		fmt.Fprintf(&b, "value %s %s %s\n", v.Name, v.Fold, v.Type)
	}
	fmt.Fprintf(&b, "cells %v combined %t codec %q\n", k.layout, k.combine, k.codec)
	return xxh3.HashString(b.String())
}

// Signature is the identity of all that a plan says, functions apart: two plans with one signature
// have the same stages, exchanges, tables and guarantees, and meet the same stored rows.
func (p *Plan) Signature() uint64 {
	var b strings.Builder
	fmt.Fprintf(&b, "sr plan 1\ntopology %s\n", p.Name)
	for _, s := range p.Stages {
		fmt.Fprintf(&b, "stage %s of %q parallelism %d\n", s.Operator, s.Operators, s.Parallelism)
		if s.Spout != nil {
			fmt.Fprintf(&b, "spout %+v\n", *s.Spout)
		}
		for _, e := range s.Outs {
			fmt.Fprintf(&b, "edge to %s direct %t: %+v, %016x\n", e.To.Operator, e.Direct, *e.To.Table, e.To.Signature)
		}
	}
	fmt.Fprintf(&b, "promises %+v\n", p.Outputs)
	return xxh3.HashString(b.String())
}
