package kafka_test

import (
	"testing"

	"github.com/selfregulating/sr/runtime/broker/brokertest"
)

func TestBrokerPassesTheSuite(t *testing.T) {
	brokertest.Run(t, func(t *testing.T) brokertest.Harness { return harness(t, fake(t).ListenAddrs()...) })
}
