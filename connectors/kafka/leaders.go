package kafka

import (
	"context"
	"errors"

	"github.com/selfregulating/sr/runtime/broker"
)

// eachLeader calls ask for all leaders at once. It fails if one of them forbids, or if all fail.
func (b *Broker) eachLeader(ctx context.Context, l layout, ask func(ctx context.Context, leader int32, partitions []int32) error) error {
	leaders := l.byLeader()
	answers := make(chan error, len(leaders))
	bounded, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
	defer cancel()
	for leader, partitions := range leaders {
		go func() { answers <- ask(bounded, leader, partitions) }()
	}
	var last error
	failed := 0
	for range leaders {
		err := <-answers
		if errors.Is(err, broker.ErrNoPermission) {
			return err
		}
		if err != nil {
			failed, last = failed+1, err
		}
	}
	if failed > 0 && failed == len(leaders) {
		return b.unanswered(ctx, last)
	}
	return nil
}

// byLeader groups the partitions that have a leader.
func (l layout) byLeader() map[int32][]int32 {
	leaders := make(map[int32][]int32)
	for p, at := range l.partitions {
		if at.leader != noLeader {
			leaders[at.leader] = append(leaders[at.leader], p)
		}
	}
	return leaders
}
