// Package brokertest is the suite that every runtime/broker.Broker passes: what the runtime relies on,
// as tests. A Harness does what the interface leaves to others: it makes source topics, fills them, and
// runs transactions.
package brokertest
