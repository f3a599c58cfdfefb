// Package kafkalocal is a small Kafka broker for the demo, the bench and the tests: kfake, which speaks the real
// protocol from one Go process.
//
// Start runs it as a process of its own (this program, called again with other arguments), so that its work is not
// counted as ours and it can be killed like a real one; that process calls Serve. Fake runs one inside a test, in
// memory.
//
// What it is not: it has one broker and no replicas, finishes transactions at once, and forgets after a kill -9
// where DeleteRecords had trimmed to. What depends on those is tested on a real Kafka (package kafkatest).
//
// Topics are never made by being named, segments are of 16 MiB unless a topic says otherwise (space is given
// back by whole segments), and messages may have 1 MiB unless a topic says otherwise.
package kafkalocal
