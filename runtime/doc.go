// Package runtime is the vocabulary of sr: the named types that travel between its packages.
// It holds no logic beyond formatting and parsing, and imports nothing of ours.
//
// The words are those of the design: a topology runs operators; operators fuse into stages
// between two exchanges; a stage is cut into instances, which own partitions (of a source) or
// buckets (the partitions of an exchange); a batch of a partition has a txid; an ownership has
// an epoch; one life of an instance as a producer of blocks is a writer, and its batches are
// numbered by seq.
package runtime
