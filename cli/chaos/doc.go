// Package chaos is the exactly-once suite. It runs topologies on a real Kafka and a real Postgres in
// processes of their own (package node), breaks them in every way that the protocol has an answer to,
// and compares the state with the truth, id by id: killed at each arrow of the protocol (package
// runtime/crash) and at any time, frozen and thawed, cut off at COMMIT, with servers that restart, grow,
// forget, or go back in time.
//
// The tests need Linux and the build tag kafka. Those named TestChaosShort take minutes and run with every change;
// TestChaosProduct goes on with every fault in every cell for as long as SR_CHAOS_MINUTES says. Every
// choice comes from a seed, which is printed; SR_CHAOS_SEED repeats it.
package chaos
