package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/selfregulating/sr/runtime"
)

// Trim deletes the records below the offsets. What a partition answers is ignored, but for a missing
// permission: the next trim does what this one could not.
func (b *Broker) Trim(ctx context.Context, topic string, below map[int32]runtime.Offset) error {
	l, err := b.describe(ctx, b.cl, topic)
	if err != nil {
		return fmt.Errorf("trimming: %w", err)
	}
	err = b.eachLeader(ctx, l, func(ctx context.Context, leader int32, partitions []int32) error {
		req := b.trimRequest(topic, partitions, below)
		if len(req.Topics[0].Partitions) == 0 {
			return nil
		}
		resp, err := b.cl.Broker(int(leader)).Request(ctx, req)
		if err != nil {
			return err
		}
		for _, t := range resp.(*kmsg.DeleteRecordsResponse).Topics {
			for _, p := range t.Partitions {
				if denied(p.ErrorCode) {
					return refused(topic, p.ErrorCode)
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("trimming %s: %w", topic, err)
	}
	return nil
}

func (b *Broker) trimRequest(topic string, partitions []int32, below map[int32]runtime.Offset) *kmsg.DeleteRecordsRequest {
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = topic
	for _, partition := range partitions {
		if at, ok := below[partition]; ok {
			p := kmsg.NewDeleteRecordsRequestTopicPartition()
			p.Partition, p.Offset = partition, at
			t.Partitions = append(t.Partitions, p)
		}
	}
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = int32(b.cfg.Timeout.Milliseconds())
	req.Topics = append(req.Topics, t)
	return req
}
