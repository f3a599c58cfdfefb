// Package state is Trident's state contract and its rules, in Go generics.
//
// A State is told where a commit begins and ends. A MapState keeps values by key: the rules of its
// three kinds (NonTransactionalMap, TransactionalMap, OpaqueMap) live here, over a BackingMap that
// only gets and puts rows, so that every store obeys the same rules. CachedMap puts a cache between
// the two; Memory is the store that the others are compared with. The words that a table of state is
// described in (Table, Kind, Fold) are here too, because the plan writes them and a connector reads
// them.
//
// The package does no I/O of its own. A state belongs to one owner and one bucket (txids compare only
// within a bucket) and is not safe for concurrent use, Memory excepted. DESIGN.md has the reasons.
package state
