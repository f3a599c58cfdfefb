// Package cli is the command sr: its commands, and the wiring of topology, Kafka and Postgres into a
// run. The binary in cli/sr is Main and nothing else; programs that bring topologies written in Go
// call Main with them, and run them as "sr run NAME".
//
// Stdout carries the answer; stderr the conversation: logs, messages and progress bars. Commands
// return errors, and exit.go alone turns those into exit codes.
package cli
