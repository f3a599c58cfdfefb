// Package memory is the twin of connectors/kafka and connectors/postgres: a log and a store that live in
// the process. Tests and demos run on it; it passes the suites that the real connectors pass, and loses
// everything when the process ends.
package memory
