package kafka_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/selfregulating/sr/connectors/kafka"
	"github.com/selfregulating/sr/runtime/broker"
)

func TestExchangeDifferenceIsNamedWithTheCommandThatMendsIt(t *testing.T) {
	c := fake(t)
	f := newFeeder(t, c.ListenAddrs()...)
	b := open(t, kafka.Config{Seeds: c.ListenAddrs()})
	x := broker.Exchange{Topic: "x", Buckets: 2}
	_, err := b.EnsureExchange(t.Context(), x)
	must(t, err)
	hour := "3600000"
	resp, err := f.adm.AlterTopicConfigs(t.Context(), retention(hour), "x")
	must(t, err)
	must(t, resp[0].Err)
	_, err = b.EnsureExchange(t.Context(), x)
	if !errors.Is(err, broker.ErrSettings) {
		t.Fatalf("got %v, want ErrSettings", err)
	}
	for _, part := range []string{`retention.ms is "3600000", must be "-1"`, "--entity-name x --add-config retention.ms=-1"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "segment.bytes") {
		t.Errorf("%q names a setting that is right", err)
	}
}

func TestExchangeThatMayNotBeCreatedIsExplained(t *testing.T) {
	for fault, part := range map[*kerr.Error]string{
		kerr.TopicAuthorizationFailed: "ACL operation Create",
		kerr.PolicyViolation:          "policy",
		kerr.InvalidReplicationFactor: "too few brokers",
	} {
		c := fake(t)
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Err: fault, Count: -1})
		_, err := open(t, kafka.Config{Seeds: c.ListenAddrs()}).EnsureExchange(t.Context(), broker.Exchange{Topic: "x", Buckets: 1})
		if !errors.Is(err, fault) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: got %v, want it to say %q", fault.Message, err, part)
		}
	}
}

func TestPartitionWithoutAnswerIsAbsentFromOffsets(t *testing.T) {
	c := fake(t, kfake.SeedTopics(2, "t"))
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Partitions: []int32{1}, Err: kerr.NotLeaderForPartition, Count: -1})
	got, err := open(t, kafka.Config{Seeds: c.ListenAddrs()}).Offsets(t.Context(), "t")
	must(t, err)
	if _, ok := got[1]; ok || len(got) != 1 {
		t.Fatalf("got %v, want partition 0 only", got)
	}
}
