//go:build !chaos

package crash

// Point is a place where a test may kill the process.
func Point(string) {}
