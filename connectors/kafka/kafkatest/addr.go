package kafkatest

import (
	"os"
	"testing"
)

// The variables of the environment that steer tests on a real Kafka.
const (
	// EnvAddr is HOST:PORT of a broker that tests may use.
	EnvAddr = "SR_TEST_KAFKA"
	// EnvRequire, set to 1, turns a missing Kafka or Postgres from a skipped test into a failed one.
	EnvRequire = "SR_TEST_REQUIRE"
)

// Addr answers HOST:PORT of the broker named by SR_TEST_KAFKA. Without one the test is skipped, or
// fails if SR_TEST_REQUIRE is 1. The broker is shared: a test makes topics with names of its own.
func Addr(t testing.TB) string {
	t.Helper()
	addr := os.Getenv(EnvAddr)
	switch {
	case addr != "":
	case os.Getenv(EnvRequire) == "1":
		t.Fatalf("%s=1, but %s names no broker; start one with: task kafka:up", EnvRequire, EnvAddr)
	default:
		t.Skipf("%s names no broker; start one with: task kafka:up", EnvAddr)
	}
	return addr
}
