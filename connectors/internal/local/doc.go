// Package local is what the local servers of the demo and the tests share: child processes that end with this
// process, file locks that the kernel gives back, and folders of our own below the temporary folder.
//
// Postgres (pglocal), the Kafka broker (kafkalocal) and the tests' databases (pgtest) use it.
package local
