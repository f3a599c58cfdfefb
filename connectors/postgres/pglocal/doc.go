// Package pglocal runs a real Postgres on this machine for the demo, the bench and the tests: found, or fetched when
// none is installed.
//
// Find looks on PATH, in the distributions' usual folders and in the cache, and fetches last. Start makes a cluster
// in a folder (or takes the one that is there, also after a crash) and serves it on 127.0.0.1.
//
// What it guarantees:
//   - Postgres never runs as root. When this process is root, the server gets the user who owns its data, else the
//     user postgres, else nobody.
//   - Nobody else on the machine gets in: no socket file, one TCP port on 127.0.0.1, and a random password
//     (SCRAM-SHA-256), which is kept in the cluster's folder for the next start.
//   - On Linux the server ends with this process, also when that is killed. Its folder stays good.
//   - A fetch or an initdb that was cut off leaves nothing that a later one would take for whole.
//
// Not for production: it is one server, tuned for nothing. Windows is not supported (errors.ErrUnsupported).
package pglocal
