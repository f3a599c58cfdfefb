// Package postgres is the store of sr on PostgreSQL (15 or later): the protocol's rows, the state
// that people query, and dead letters, moved together in one transaction. runtime/worker uses it
// through package runtime/store.
//
// It guarantees that a commit happens whole or not at all, that everything it believed is asserted
// inside the transaction itself, and that an answer never claims more than is known (ErrUnknown).
// It is the only package beside migrations, the control plane's store and the percolator that knows
// pgx. DESIGN.md has the statements, the order of locks and what each error means.
package postgres
