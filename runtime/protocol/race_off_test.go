//go:build !race

package protocol

// raceEnabled tells whether the race detector slows this build down.
const raceEnabled = false
