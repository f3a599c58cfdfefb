// Package crash names the points at which tests kill this process: each arrow of the protocol has
// one. Without the build tag "chaos" a point is nothing; with it, the environment variable
// SR_CRASH_AT=name[:n] ends the process by SIGKILL when the point is reached for the n-th time, and
// SR_STOP_AT=name[:n] freezes it there by SIGSTOP, until SIGCONT.
package crash
