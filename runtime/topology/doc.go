// Package topology turns what a user wrote, in Go or in YAML, into a Plan: which operators run fused
// in which stage, what travels between stages, which tables are kept, and what is promised of each.
//
// In Go a topology is built with package functions over Stream[T] (From, Map, FlatMap, Filter, Split,
// Merge, GroupBy, PersistentAggregate, NewValues); Parse reads the same from YAML, where tuples are
// Rows and expressions are compiled and type-checked once. Both end in Builder.Plan, which answers
// with everything that is wrong at once (Problems) or with a Plan. runtime/worker runs a Plan, and
// the CLI prints what Describe says of it.
//
// Nothing here does I/O. DESIGN.md has the grammar and the reasons.
package topology
