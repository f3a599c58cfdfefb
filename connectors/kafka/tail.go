package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

// skipEmptyTails moves cursors to the end of what they may read, if the answer held nothing at all
// although that end is further on: all records between were compacted or expired away, and the log
// has no batch left that could say so. Sure only where nothing else explains the silence: an answer
// that is full, throttled, or waits for tiered storage is silent too.
func (s *source) skipEmptyTails(h *haul, cursors map[int32]asked, answer *kmsg.FetchResponse) {
	for _, t := range answer.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			a, ok := cursors[p.Partition]
			end := endOf(p, s.r.cfg.ReadCommitted)
			if !ok || p.ErrorCode != 0 || end <= a.position {
				continue
			}
			if s.isLocal(a) {
				h.catches = append(h.catches, catch{a, broker.Chunk{Partition: p.Partition, Next: end, End: end}})
			}
		}
	}
}

// endOf is how far a reader may read, as the leader's answer says.
func endOf(p *kmsg.FetchResponseTopicPartition, readCommitted bool) runtime.Offset {
	if readCommitted {
		return p.LastStableOffset
	}
	return p.HighWatermark
}

// isLocal tells whether the leader itself holds whatever there is from the position on.
func (s *source) isLocal(a asked) bool {
	ctx, cancel := context.WithTimeout(s.r.ctx, s.r.b.cfg.Timeout)
	defer cancel()
	from, err := s.r.b.list(ctx, s.r.cl, s.only(a.cursor), atLocalStart, readUncommitted)
	start, ok := from[a.cursor.partition]
	return err == nil && ok && start <= a.position
}
