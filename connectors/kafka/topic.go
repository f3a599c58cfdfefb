package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

// layout is a topic as the cluster describes it at one moment.
type layout struct {
	broker.Topic
	partitions map[int32]leadership
}

// leadership is where a partition is served; leader is noLeader if nowhere.
type leadership struct {
	leader, epoch    int32
	replicas, inSync int
}

const noLeader = -1

// Topic describes a topic. It asks the cluster each time: partitions may grow at any moment.
func (b *Broker) Topic(ctx context.Context, name string) (broker.Topic, error) {
	l, err := b.describe(ctx, b.cl, name)
	return l.Topic, err
}

func (b *Broker) describe(ctx context.Context, cl *kgo.Client, name string) (layout, error) {
	resp, err := metadataRequest(name).RequestWith(ctx, cl)
	if err != nil {
		return layout{}, fmt.Errorf("describing topic %s: %w", name, b.unanswered(ctx, err))
	}
	if len(resp.Topics) != 1 {
		return layout{}, fmt.Errorf("describing topic %s: the broker answered with %d topics", name, len(resp.Topics))
	}
	t := resp.Topics[0]
	if err := refused(name, t.ErrorCode); err != nil {
		return layout{}, err
	}
	l := layout{
		Topic:      broker.Topic{Name: name, ID: runtime.TopicID(t.TopicID), Partitions: len(t.Partitions)},
		partitions: make(map[int32]leadership, len(t.Partitions)),
	}
	for _, p := range t.Partitions {
		l.partitions[p.Partition] = leadership{leader: p.Leader, epoch: p.LeaderEpoch, replicas: len(p.Replicas), inSync: len(p.ISR)}
	}
	return l, nil
}

// DeleteTopic deletes a topic; one that is gone is no error.
func (b *Broker) DeleteTopic(ctx context.Context, name string) error {
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = kmsg.StringPtr(name)
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Topics = append(req.Topics, t)
	req.TopicNames = []string{name} // brokers before Kafka 2.8
	req.TimeoutMillis = int32(b.cfg.Timeout.Milliseconds())

	resp, err := req.RequestWith(ctx, b.cl)
	if err != nil {
		return fmt.Errorf("deleting topic %s: %w", name, b.unanswered(ctx, err))
	}
	for _, t := range resp.Topics {
		if errors.Is(kerr.ErrorForCode(t.ErrorCode), kerr.UnknownTopicOrPartition) {
			return nil
		}
		if err := refused(name, t.ErrorCode); err != nil {
			return fmt.Errorf("deleting: %w", err)
		}
	}
	return nil
}
