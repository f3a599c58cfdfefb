// Package kafka implements runtime/broker on Apache Kafka with franz-go. Besides its tests, it is
// the only package that knows Kafka's protocol.
//
// What it promises beyond the interface: a position that comes out of a reader is exact, also over
// transaction markers, aborted records and compacted tails; an append that cannot be stored in time is
// given up, never forgotten; and what goes wrong is told as what happened, why, and what to do next.
//
// DESIGN.md says how, and why the reader fetches by itself instead of using franz-go's consumer.
package kafka
