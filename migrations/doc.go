// Package migrations holds the schema of the databases that sr decides in: numbered pairs of SQL
// files, NNNN_noun_change.up.sql and .down.sql, and what applies them. connectors/postgres brings a
// database up when it opens it; sr migrate shows and changes it by hand.
//
// Up and Down are one transaction each, under an advisory lock: concurrent runners take turns, and
// nothing half made stays. A database that a newer sr has changed is refused (NewerError).
package migrations
