package worker

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/topology"
)

// Trident's opaque hole: attempt 0 of a batch writes a key, fails, and attempt 1, which may hold other
// tuples, lacks it. The key keeps what attempt 0 wrote, and when its tuple comes in a later batch it
// counts twice. Here the first attempt sees an impure function send its tuple to another key.
func TestOpaqueHoleIsClosed(t *testing.T) {
	for name, direct := range map[string]bool{"exchange": false, "direct": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var attempts atomic.Int64
				b := topology.New("test")
				lines := topology.From(b, "in", from(topology.Opaque), topology.Text)
				routed := topology.FlatMap(lines, "route", func(line string, emit func(string)) error {
					if line == "fickle" && attempts.Add(1) == 1 {
						emit("removed")
						return nil
					}
					emit(line)
					return nil
				})
				config := topology.StateConfig{Kind: state.Opaque, PartitionedByKey: direct}
				if !direct {
					config.Buckets = buckets
				}
				topology.PersistentAggregate(topology.GroupBy(routed, topology.ByText("word")), "counts", config, topology.Count[string]("count"))
				r := newRig(t, 1, b)
				r.feedTo(0, "fickle")
				c := r.container()
				first := once()
				c.committing = func(a *attempt) error {
					if a.stage == "in" && len(a.Moves) > 0 && first() {
						return fmt.Errorf("the first attempt fails: %w", protocol.ErrLost)
					}
					return a.do()
				}
				r.must(c.catchUp())
				r.feedTo(0, "removed") // the key's tuple comes in a later batch
				r.catchUp()
				r.wantExact()
				if attempts.Load() < 2 {
					t.Error("the batch was attempted once only")
				}
			})
		})
	}
}

// A batch whose entries for one bucket pass 1 MB is cut before; no block is larger by more than what the
// table's accounting may lag.
func TestABatchIsCutBeforeABlockPassesOneMegabyte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := topology.New("test")
		split := topology.Split(topology.From(b, "in", from(topology.Opaque), topology.Text), "split", " ")
		topology.PersistentAggregate(topology.GroupBy(split, topology.ByText("word")), "counts",
			topology.StateConfig{Buckets: 1}, topology.Count[string]("count"))
		r := newRig(t, 1, b)
		const records, words = 400, 100
		for i := range records {
			line := ""
			for w := range words {
				line += fmt.Sprintf("w%08d%s ", i*words+w, "padding-that-makes-the-word-fifty-bytes-long")
			}
			r.feedTo(0, line)
		}
		r.must(r.container(func(c *Config) { c.BatchBytes = 64 << 20 }).catchUp())
		r.wantExact()
		blocks := r.blocks(t, "counts")
		if len(blocks) < 2 {
			t.Fatalf("%d bytes of words went into %d block", records*words*50, len(blocks))
		}
		for i, block := range blocks {
			if len(block) > exchange.BlockTarget+128<<10 {
				t.Errorf("block %d has %d bytes", i, len(block))
			}
		}
	})
}

// blocks reads every block of bucket 0 of an operator's exchange.
func (r *rig) blocks(t *testing.T, op string) [][]byte {
	t.Helper()
	topic := ExchangeTopic(r.id, runtime.OperatorID(op))
	reader, err := r.broker.NewReader(broker.ReaderConfig{Topic: topic, MaxPartitionBytes: 64 << 20, MaxBytes: 64 << 20})
	r.must(err)
	defer reader.Close()
	offsets, err := r.broker.Offsets(t.Context(), topic)
	r.must(err)
	reader.Seek(0, 0)
	var blocks [][]byte
	for next := runtime.Offset(0); next < offsets[0].End; {
		f, err := reader.Poll(t.Context())
		r.must(err)
		for _, c := range f.Chunks {
			for _, rec := range c.Records {
				blocks = append(blocks, clone(rec.Value))
			}
			next = c.Next
		}
		f.Release()
	}
	return blocks
}
