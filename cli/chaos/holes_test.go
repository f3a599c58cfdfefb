//go:build kafka

package chaos

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/cli/chaos/cell"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/topology"
)

// A pinned range with holes: markers of transactions, aborted records, and what compaction has taken
// before it was read. Its replay is exact.
func TestChaosShortReplayOfARangeWithHoles(t *testing.T) {
	for _, shape := range []cell.Shape{cell.Exchange, cell.Direct} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			c := cell.Cell{Spout: topology.Transactional, State: state.Opaque, Shape: shape}
			w := newWorld(t, c, setting{partitions: 2, topic: compacting})
			for range 5 {
				w.transact(400, true)
				w.transact(300, false)
				w.noise(100)
			}
			w.compacted()
			w.keeps()
			for range 3 {
				w.transact(400, true)
				w.transact(200, false)
				for _, at := range []string{"source-described", "source-committing"} {
					w.start(launch{crashAt: at}).crashesAt(at)
				}
			}
			w.settle(launch{})
			tally.fault("replay over markers, aborted and compacted records")
		})
	}
}

// compacting has the cleaner look at a topic within a second or so.
var compacting = map[string]string{
	"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.001",
	"retention.ms": "-1", "delete.retention.ms": "0", "max.compaction.lag.ms": "200", "min.compaction.lag.ms": "0",
}

// transact produces n records to each partition in one Kafka transaction; those of an aborted one are
// named like records, and must not count.
func (f *feeder) transact(n int, commit bool) {
	f.t.Helper()
	ctx := context.Background()
	cl := f.client(kgo.TransactionalID(f.topic + "." + strings.Repeat("t", 1+f.rand.IntN(3))))
	defer cl.Close()
	must(f.t, cl.BeginTransaction())
	var records []*kgo.Record
	f.mu.Lock()
	for p := range f.next {
		before := f.next[p]
		for range n {
			r := f.record(int32(p))
			r.Key = r.Value
			records = append(records, r)
		}
		if !commit {
			f.next[p] = before
			for _, r := range records {
				if r.Partition == int32(p) {
					r.Value = []byte("aborted." + string(r.Value))
				}
			}
		}
	}
	f.mu.Unlock()
	must(f.t, cl.ProduceSync(ctx, records...).FirstErr())
	must(f.t, cl.EndTransaction(ctx, kgo.TransactionEndTry(commit)))
}

// noise produces n records of one key to each partition, all of which stand for nothing.
func (f *feeder) noise(n int) {
	f.t.Helper()
	var records []*kgo.Record
	for p := range f.next {
		for range n {
			records = append(records, &kgo.Record{Partition: int32(p), Key: []byte(cell.Noise), Value: []byte(cell.Noise + " " + padding)})
		}
	}
	must(f.t, f.cl.ProduceSync(context.Background(), records...).FirstErr())
}

// compacted waits until the cleaner has taken most of the noise away. It never touches the newest
// segment, so new ones are begun.
func (w *world) compacted() {
	w.t.Helper()
	eventually(w.t, "compaction", func() bool {
		w.noise(1)
		time.Sleep(150 * time.Millisecond) // a segment's age
		return w.readNoise() < 40*len(w.next)
	})
}

// keeps ends compaction, and waits until the cleaner has done what it was at.
func (w *world) keeps() {
	w.t.Helper()
	w.alter("cleanup.policy", "delete")
	left, same := w.readNoise(), 0
	eventually(w.t, "a rest for the cleaner", func() bool {
		time.Sleep(100 * time.Millisecond)
		now := w.readNoise()
		if same++; now != left {
			left, same = now, 0
		}
		return same >= 5
	})
}

// readNoise reads the topic and counts the noise that is left.
func (w *world) readNoise() (left int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ends, err := w.adm.ListEndOffsets(ctx, w.topic)
	must(w.t, err)
	from, until := map[int32]kgo.Offset{}, map[int32]int64{}
	ends.Each(func(end kadm.ListedOffset) {
		from[end.Partition], until[end.Partition] = kgo.NewOffset().AtStart(), end.Offset-1
	})
	// The marker of a transaction may come after what was produced behind it, and so be the last.
	cl := w.client(kgo.KeepControlRecords(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{w.topic: from}))
	defer cl.Close()
	for len(until) > 0 && ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			if strings.HasPrefix(string(r.Value), cell.Noise) {
				left++
			}
			if r.Offset >= until[r.Partition] {
				delete(until, r.Partition)
			}
		})
	}
	return left
}
