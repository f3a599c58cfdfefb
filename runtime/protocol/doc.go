// Package protocol holds the rules by which blocks become state exactly once: "blocks first, the
// store decides". Its state machines are plain values without I/O, driven by runtime/worker with a
// real Kafka and a real Postgres, and by the explorer in this package's tests with every
// interleaving of faults. DESIGN.md tells the rules and where each one stands in the code.
//
//   - Writer stamps the blocks of a batch with seq and prev_seq.
//   - Emitter is the memory of an instance that reads source partitions.
//   - Receiver is the memory of one bucket: it holds, applies and drops blocks.
//   - Rows is the store's side: the rows and the one transaction that asserts and moves them. It is
//     the in-memory twin; connectors/postgres says the same in SQL.
package protocol
