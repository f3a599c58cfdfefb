// Package demo is the word count before one's eyes, for somebody who has nothing but Go: a Kafka and a Postgres of its
// own, text to count, a table that grows, and a proof. The command "sr demo" uses it.
//
// The word count itself runs as "sr run" runs it; this package feeds it, watches it by SELECT like any user, and at the
// end compares every row of its table with a count of its own over the text that was fed.
//
// It guarantees that nothing it started runs on after Run has returned, and on Linux after its process was killed; and
// that a folder it made is gone, unless it was told to keep it.
package demo
