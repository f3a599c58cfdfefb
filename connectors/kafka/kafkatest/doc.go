// Package kafkatest runs a real Apache Kafka for tests, without Docker: one node in KRaft mode,
// fetched from Maven Central once and kept in the user's cache folder. It needs Java 17 or later,
// and Maven for the first fetch.
//
// Two ways in. A test that is content with any broker asks Addr for one. A test that stops, kills,
// limits or secures its broker starts one of its own with Start. The command kafkaup starts a
// broker for people and for scripts.
//
// The broker is tuned for tests, not for use: one copy of everything, no rebalance delay, and a
// cleaner that acts within a second. Topics are never created by themselves.
package kafkatest
