package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	topic      = "sentences"
	partitions = 4
)

// ensureTopic makes the topic unless an earlier run has, and returns where each partition ends.
func ensureTopic(ctx context.Context, cl *kgo.Client) (map[int32]int64, error) {
	admin := kadm.NewClient(cl)
	forever := "-1"
	_, err := admin.CreateTopic(ctx, partitions, 1, map[string]*string{"retention.ms": &forever, "retention.bytes": &forever}, topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return nil, fmt.Errorf("making the topic %s: %w", topic, err)
	}
	listed, err := admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("listing the ends of %s: %w", topic, err)
	}
	ends := make(map[int32]int64)
	listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	return ends, nil
}

// countEarlier adds what earlier runs fed to the truth, by reading all of the topic up to the ends.
func countEarlier(ctx context.Context, addr string, ends map[int32]int64, into *truth) error {
	from, left := map[int32]kgo.Offset{}, int64(0)
	for p, end := range ends {
		from[p] = kgo.NewOffset().AtStart()
		left += end
	}
	if left == 0 {
		return nil
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	if err != nil {
		return fmt.Errorf("opening a Kafka client: %w", err)
	}
	defer cl.Close()
	for left > 0 {
		fetched := cl.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			return fmt.Errorf("reading what earlier runs fed: %w", errors.Join(context.Cause(ctx), err))
		}
		fetched.EachRecord(func(r *kgo.Record) {
			into.add(r.Value)
			left--
		})
	}
	return nil
}
