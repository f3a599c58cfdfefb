package worker

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/vitals"
)

func TestALostBlockStopsItsBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, totals(from(topology.Opaque), topology.StateConfig{Buckets: 1}))
		c := r.container()
		c.committing = func(a *attempt) error {
			if a.stage == "counts" {
				return errInjected
			}
			return a.do()
		}
		c.start()
		for range 3 {
			r.produce(0, "a 1")
			time.Sleep(100 * time.Millisecond)
		}
		c.abandon()
		name := ExchangeTopic(r.id, "counts")
		r.must(r.broker.Compact(name, 0, func(rec broker.Record) bool { return rec.Offset != 1 }))
		c = r.container().start()
		gap := wantError[*protocol.GapError](c)
		if gap.Input != (runtime.Input{Operator: "counts"}) || gap.Offset != 2 || gap.Seq != 3 || gap.Prev != 2 || gap.Applied != 1 {
			t.Errorf("the gap is %+v", gap)
		}
		if n := c.sum("counts", func(i *vitals.Instance) int64 { return i.Reloads.Load() }); n != 1 {
			t.Errorf("%d reloads before stopping, want 1: whoever has lost the bucket sees gaps that are none", n)
		}
	})
}

func TestAGapThatIsNoneOnceTheRowIsReadAgainIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		c := r.container()
		asleep, hidden := false, false
		c.fetched = func(topic string, f *broker.Fetch) {
			switch {
			case topic != "counts" || hidden:
			case len(f.Chunks) == 0 && !asleep: // let several blocks gather
				asleep = true
				time.Sleep(500 * time.Millisecond)
			case len(f.Chunks) > 0 && len(f.Chunks[0].Records) > 1:
				f.Chunks[0].Records, hidden = f.Chunks[0].Records[1:], true
			}
		}
		c.start()
		time.Sleep(200 * time.Millisecond)
		for range 5 {
			r.feed(20)
			time.Sleep(100 * time.Millisecond)
		}
		r.untilExact()
		if n := c.sum("counts", func(i *vitals.Instance) int64 { return i.Reloads.Load() }); n != 1 {
			t.Errorf("%d reloads, want 1", n)
		}
		r.must(c.drain())
		if !hidden {
			t.Error("no block was hidden")
		}
	})
}

func TestADamagedBlockStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		r.feed(20)
		c := r.container()
		c.fetched = func(topic string, f *broker.Fetch) {
			for i := range f.Chunks {
				f.Chunks[i].Records = slices.Clone(f.Chunks[i].Records)
				for j := range f.Chunks[i].Records {
					if v := &f.Chunks[i].Records[j].Value; topic == "counts" {
						*v = bytes.Clone(*v)
						(*v)[len(*v)-1] ^= 1
					}
				}
			}
		}
		damaged := wantError[*SignatureError](c.start())
		if !strings.Contains(damaged.Reason, "checksum") || damaged.Input.Operator != "counts" {
			t.Errorf("the error is %+v", damaged)
		}
		if d := r.column("counts", 0); len(d) > 0 {
			t.Errorf("damaged blocks were counted: %v", d)
		}
	})
}

func TestABlockOfAnotherVersionOfTheOperatorStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		r.feed(20)
		r.catchUp()
		k := r.plan.Stages[1].Keyed
		shape, err := exchange.NewShape(k.Layout, k.Combine)
		r.must(err)
		block := exchange.AppendBlock(nil, exchange.Header{Signature: k.Signature + 1, Writer: runtime.NewWriterID(), Seq: 1}, exchange.NewBucketTable(shape))
		r.must(r.broker.Produce(ExchangeTopic(r.id, "counts"), 2, broker.Record{Value: block}))
		other := wantError[*SignatureError](r.container().start())
		if other.Input != (runtime.Input{Operator: "counts", Partition: 2}) || !strings.Contains(other.Reason, "another version") {
			t.Errorf("the error is %+v", other)
		}
		r.wantExact()
	})
}

func TestADatabaseThatWentBackIsNoticedWhenABucketIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, wordCount(from(topology.Opaque)))
		r.feed(20)
		r.catchUp()
		c := r.container()
		c.views = func(v protocol.View) protocol.View {
			v = slices.Clone(v)
			for i := range v {
				v[i].Committed = 0
			}
			return v
		}
		if back := wantError[*protocol.WentBackError](c.start()); back.Applied == 0 || back.Committed != 0 {
			t.Errorf("the error is %+v", back)
		}
	})
}

func TestAnErrorThatNobodyForesawStopsAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, direct(from(topology.Opaque)))
		r.feed(1)
		c := r.container()
		c.committing = func(*attempt) error { return errInjected }
		began := time.Now()
		c.start().wantIs(errInjected)
		if took := time.Since(began); took < maxStrange || took > 2*maxStrange {
			t.Errorf("it stopped after %s, want some %s", took, maxStrange)
		}
	})
}
