package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

// What a ListOffsets request may ask for in place of a time.
const (
	atEnd        = -1
	atStart      = -2
	atLocalStart = -4 // below it records are in tiered storage (KIP-405)
)

// The isolation levels of ListOffsets and Fetch.
const (
	readUncommitted = int8(0)
	readCommitted   = int8(1)
)

// Offsets lists log start, last stable offset and high watermark: three requests to each leader.
func (b *Broker) Offsets(ctx context.Context, topic string) (map[int32]broker.Offsets, error) {
	l, err := b.describe(ctx, b.cl, topic)
	if err != nil {
		return nil, fmt.Errorf("listing offsets: %w", err)
	}
	return b.bounds(ctx, b.cl, l)
}

func (b *Broker) bounds(ctx context.Context, cl *kgo.Client, l layout) (map[int32]broker.Offsets, error) {
	var start, stable, end map[int32]runtime.Offset
	var g errgroup.Group
	list := func(into *map[int32]runtime.Offset, at int64, isolation int8) {
		g.Go(func() (err error) {
			*into, err = b.list(ctx, cl, l, at, isolation)
			return err
		})
	}
	list(&start, atStart, readUncommitted)
	list(&stable, atEnd, readCommitted)
	list(&end, atEnd, readUncommitted)
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := make(map[int32]broker.Offsets, len(end))
	for p, e := range end {
		from, ok := start[p]
		until, ok2 := stable[p]
		if ok && ok2 {
			all[p] = broker.Offsets{Start: from, Stable: until, End: e}
		}
	}
	return all, nil
}

// OffsetsAt lists the first offsets whose records are not older than t.
func (b *Broker) OffsetsAt(ctx context.Context, topic string, t time.Time) (map[int32]runtime.Offset, error) {
	l, err := b.describe(ctx, b.cl, topic)
	if err != nil {
		return nil, fmt.Errorf("listing offsets: %w", err)
	}
	// The ends first: a record that arrives between the two requests may be read, never skipped.
	ends, err := b.list(ctx, b.cl, l, atEnd, readUncommitted)
	if err != nil {
		return nil, err
	}
	found, err := b.list(ctx, b.cl, l, t.UnixMilli(), readUncommitted)
	if err != nil {
		return nil, err
	}
	for p, at := range found {
		end, ok := ends[p]
		switch {
		case at >= 0:
		case ok:
			found[p] = end
		default:
			delete(found, p)
		}
	}
	return found, nil
}

// list asks every leader for its partitions once, without retry: a partition without an answer is
// absent. If no leader answers at all, that is an error.
func (b *Broker) list(ctx context.Context, cl *kgo.Client, l layout, at int64, isolation int8) (map[int32]runtime.Offset, error) {
	offsets := make(map[int32]runtime.Offset, len(l.partitions))
	var mu sync.Mutex
	err := b.eachLeader(ctx, l, func(ctx context.Context, leader int32, partitions []int32) error {
		resp, err := cl.Broker(int(leader)).Request(ctx, listRequest(l, partitions, at, isolation))
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if denied(p.ErrorCode) {
					return refused(l.Name, p.ErrorCode)
				}
				if p.ErrorCode == 0 {
					offsets[p.Partition] = p.Offset
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing offsets of %s: %w", l.Name, err)
	}
	return offsets, nil
}

func listRequest(l layout, partitions []int32, at int64, isolation int8) *kmsg.ListOffsetsRequest {
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = l.Name
	for _, partition := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp, p.CurrentLeaderEpoch = partition, at, l.partitions[partition].epoch
		t.Partitions = append(t.Partitions, p)
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.IsolationLevel = isolation
	req.Topics = append(req.Topics, t)
	return req
}
