// Package worker is a container: it hosts the instances of a topology's stages, takes ownership of
// their inputs, and drives the state machines of runtime/protocol with a broker and a store.
// Run(ctx) is its whole life.
//
// The path of the data: a source instance reads partitions, gathers partial aggregates by bucket,
// produces them as blocks and commits progress and decision together; a keyed instance reads
// buckets, holds blocks until they are decided, merges them, and commits whole buckets of state
// together with their resume offsets. DESIGN.md tells the loops, the failures and what answers them.
package worker
