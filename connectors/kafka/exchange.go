package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/selfregulating/sr/runtime/broker"
)

const (
	segmentBytes    = 16 << 20
	maxMessageBytes = 8 << 20
	// leadersWithin bounds the wait for the leaders of a new topic.
	leadersWithin = 30 * time.Second
)

const minISR = "min.insync.replicas"

// EnsureExchange creates the topic of an exchange, or verifies the one there. Errors:
// broker.ErrSettings naming each setting that differs and the command that mends it;
// broker.ErrNoPermission; the broker's own words if a policy of the cluster forbids the topic.
func (b *Broker) EnsureExchange(ctx context.Context, x broker.Exchange) (broker.Topic, error) {
	if x.SegmentBytes == 0 {
		x.SegmentBytes = segmentBytes
	}
	if x.MaxMessageBytes == 0 {
		x.MaxMessageBytes = maxMessageBytes
	}
	// Looked for before it is created: who may not create topics can still use one made by somebody else.
	l, err := b.describe(ctx, b.cl, x.Topic)
	if errors.Is(err, broker.ErrNoTopic) {
		l, err = b.createExchange(ctx, x)
	}
	if err != nil {
		return broker.Topic{}, fmt.Errorf("ensuring an exchange: %w", err)
	}
	if err := b.verifyExchange(ctx, x, l); err != nil {
		return broker.Topic{}, fmt.Errorf("verifying an exchange: %w", err)
	}
	return l.Topic, nil
}

// settings are what blocks need: nothing deletes them but our own trim, no leader that lacks some is
// elected, and the largest fits.
func settings(x broker.Exchange) map[string]string {
	return map[string]string{
		"cleanup.policy":                 "delete",
		"retention.ms":                   "-1",
		"retention.bytes":                "-1",
		"segment.bytes":                  strconv.Itoa(x.SegmentBytes),
		"unclean.leader.election.enable": "false",
		"max.message.bytes":              strconv.Itoa(x.MaxMessageBytes),
	}
}

// createExchange makes the topic and waits until each partition has a leader. A topic that somebody
// else made meanwhile is as good.
func (b *Broker) createExchange(ctx context.Context, x broker.Exchange) (layout, error) {
	req := createRequest(x)
	req.TimeoutMillis = int32(b.cfg.Timeout.Milliseconds())
	resp, err := req.RequestWith(ctx, b.cl)
	if err != nil {
		return layout{}, fmt.Errorf("creating topic %s: %w", x.Topic, b.unanswered(ctx, err))
	}
	for _, t := range resp.Topics {
		if err := notCreated(x, t); err != nil {
			return layout{}, err
		}
	}
	l, err := b.awaitLeaders(ctx, x.Topic)
	if err != nil {
		return layout{}, fmt.Errorf("awaiting the leaders of topic %s: %w", x.Topic, err)
	}
	if x.Replication == 0 && replication(l) >= 3 {
		// The broker's default turned out to be a replicated topic.
		return l, b.setMinISR(ctx, x.Topic)
	}
	return l, nil
}

func createRequest(x broker.Exchange) *kmsg.CreateTopicsRequest {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = x.Topic
	t.NumPartitions = int32(x.Buckets)
	t.ReplicationFactor = -1
	if x.Replication > 0 {
		t.ReplicationFactor = int16(x.Replication)
	}
	want := settings(x)
	if x.Replication >= 3 {
		want[minISR] = "2"
	}
	for name, value := range want {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, kmsg.StringPtr(value)
		t.Configs = append(t.Configs, c)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, t)
	return req
}

func notCreated(x broker.Exchange, t kmsg.CreateTopicsResponseTopic) error {
	err := kerr.ErrorForCode(t.ErrorCode)
	said := ""
	if t.ErrorMessage != nil {
		said = ": " + *t.ErrorMessage
	}
	switch {
	case err == nil, errors.Is(err, kerr.TopicAlreadyExists):
		return nil
	case denied(t.ErrorCode):
		return fmt.Errorf("creating topic %s: %w: our user needs the ACL operation Create on topics with the prefix \"sr.\", "+
			"or somebody who may creates the topic with %d partitions and these settings: %s (%w)",
			x.Topic, broker.ErrNoPermission, x.Buckets, pairs(settings(x)), err)
	case errors.Is(err, kerr.PolicyViolation):
		return fmt.Errorf("creating topic %s: a policy of the Kafka cluster forbids it%s; ask its operators to allow topics with %d partitions and %s (%w)",
			x.Topic, said, x.Buckets, pairs(settings(x)), err)
	case errors.Is(err, kerr.InvalidReplicationFactor):
		return fmt.Errorf("creating topic %s with %d copies: the cluster has too few brokers for that%s; ask for fewer (%w)", x.Topic, x.Replication, said, err)
	}
	return fmt.Errorf("creating topic %s: the broker refused%s (%w)", x.Topic, said, err)
}

// awaitLeaders waits until each partition of a new topic has a leader that answers: a leader is named
// a moment before it knows.
func (b *Broker) awaitLeaders(ctx context.Context, topic string) (layout, error) {
	ctx, cancel := context.WithTimeout(ctx, leadersWithin)
	defer cancel()
	for tries := 1; ; tries++ {
		l, err := b.describe(ctx, b.cl, topic)
		if err == nil && l.Partitions > 0 && len(l.leaderless()) == 0 {
			ends, err := b.list(ctx, b.cl, l, atEnd, readUncommitted)
			if err != nil || len(ends) == l.Partitions {
				return l, err
			}
		}
		if err != nil && !errors.Is(err, broker.ErrNoTopic) {
			return l, err
		}
		select {
		case <-time.After(backoff(tries)):
		case <-ctx.Done():
			return l, fmt.Errorf("not all of them serve the topic after %s; is a broker down? Partitions without one: %v (%w)",
				leadersWithin, l.leaderless(), context.Cause(ctx))
		}
	}
}

func (l layout) leaderless() []int32 {
	var none []int32
	for p, at := range l.partitions {
		if at.leader == noLeader {
			none = append(none, p)
		}
	}
	slices.Sort(none)
	return none
}

func replication(l layout) int {
	fewest := 0
	for _, at := range l.partitions {
		if fewest == 0 || at.replicas < fewest {
			fewest = at.replicas
		}
	}
	return fewest
}

func (b *Broker) setMinISR(ctx context.Context, topic string) error {
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = minISR, kmsg.StringPtr("2")
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	r.Configs = append(r.Configs, c)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, r)

	resp, err := req.RequestWith(ctx, b.cl)
	if err != nil {
		return fmt.Errorf("setting %s of topic %s: %w", minISR, topic, b.unanswered(ctx, err))
	}
	for _, r := range resp.Resources {
		if err := refused(topic, r.ErrorCode); err != nil {
			return fmt.Errorf("setting %s: %w", minISR, err)
		}
	}
	return nil
}

// pairs writes settings as kafka-configs takes them.
func pairs(settings map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		all = append(all, name+"="+settings[name])
	}
	return strings.Join(all, ",")
}
