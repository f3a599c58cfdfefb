// Package pgtest gives tests a real Postgres, found or fetched by package pglocal; a clean clone needs nothing else.
//
// URL is a fresh database on a server that all tests of the binary share; Server is a server of the test's own, to
// be killed and restarted. A test that cannot have one fails with the reason: it is never skipped.
//
// The shared server ends with the test binary. Its folder, below the temporary folder, is removed by the next test
// binary that starts a server, since nothing of this one is left to do it.
package pgtest
