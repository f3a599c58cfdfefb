package kafkatest_test

import (
	"fmt"
	"testing"

	"github.com/selfregulating/sr/connectors/kafka/kafkatest"
)

// verdict is a test that records how it was ended instead of ending.
type verdict struct {
	testing.TB
	ended string
}

func (v *verdict) Helper()                        {}
func (v *verdict) Fatalf(format string, a ...any) { v.ended = "failed: " + fmt.Sprintf(format, a...) }

func (v *verdict) Skipf(format string, a ...any) { v.ended = "skipped: " + fmt.Sprintf(format, a...) }

func TestAMissingBrokerSkipsUnlessItIsRequired(t *testing.T) {
	for _, c := range []struct{ addr, require, want string }{
		{"", "", "skipped: SR_TEST_KAFKA names no broker; start one with: task kafka:up"},
		{"", "1", "failed: SR_TEST_REQUIRE=1, but SR_TEST_KAFKA names no broker; start one with: task kafka:up"},
		{"localhost:9092", "1", ""},
	} {
		t.Setenv(kafkatest.EnvAddr, c.addr)
		t.Setenv(kafkatest.EnvRequire, c.require)
		v := &verdict{TB: t}
		if got := kafkatest.Addr(v); got != c.addr || v.ended != c.want {
			t.Errorf("with %+v: address %q, test %q", c, got, v.ended)
		}
	}
}
