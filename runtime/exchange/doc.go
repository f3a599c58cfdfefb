// Package exchange holds what travels between two stages: the encoding of keys and the bucket a key
// belongs to, the combiner that folds tuples into partial aggregates, and the block, one Kafka record
// with the partial aggregates (or the tuples) of one batch for one bucket.
//
// A sending instance fills a Table, record by record, and turns each non-empty bucket into a block
// with AppendBlock. A receiver checks a block with ParseBlock, folds it into the BucketTable of its
// bucket with a Merger, and at its commit reads the entries in the order of the Postgres primary key
// with Sorted.
//
// The package is pure: no I/O, no goroutines, no clocks. Its types are not safe for concurrent use.
// Adding a tuple allocates nothing once the tables have their size. A block, whatever its bytes,
// makes no function panic or allocate more than a small multiple of its size.
//
// DESIGN.md tells the layouts, the reasons and the measurements.
package exchange
