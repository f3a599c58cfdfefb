package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/selfregulating/sr/connectors/memory"
	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/vitals"
)

// rig is a topology over a broker and a store in memory, and the truth about what it was fed. It lives
// in a synctest bubble: leases, freshness and polls run on a fake clock, and a goroutine that is left
// behind is a deadlock there.
type rig struct {
	*testing.T
	plan   *topology.Plan
	id     runtime.TopologyID
	broker *memory.Broker
	store  *memory.Store
	parts  int
	fed    int
	truth  map[string]int64 // tuples by word
}

const sentences = "sentences"

// newRig makes the topic and the plan. Edges without exchange learn their buckets as the command does.
func newRig(t *testing.T, partitions int, b *topology.Builder) *rig {
	t.Helper()
	r := &rig{T: t, id: "test.00000001", broker: memory.NewBroker(), store: memory.NewStore(), parts: partitions, truth: map[string]int64{}}
	r.must(r.broker.CreateTopic(sentences, partitions))
	r.replan(b)
	return r
}

func (r *rig) replan(b *topology.Builder) {
	r.Helper()
	plan, err := b.Plan()
	r.must(err)
	for _, s := range plan.Stages {
		for _, e := range s.Outs {
			if e.Direct {
				e.To.Buckets, e.To.Table.Buckets = r.parts, r.parts
			}
		}
	}
	r.plan = plan
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// feed produces n records to the partitions in turn. Each has a word of its own, its id, and two that
// others have too.
func (r *rig) feed(n int) {
	r.Helper()
	for range n {
		r.feedTo(int32(r.fed%r.parts), fmt.Sprintf("r%05d shared%d common%d", r.fed, r.fed%7, r.fed%3))
	}
}

// feedTo produces one record, all of whose words count.
func (r *rig) feedTo(partition int32, text string) {
	r.Helper()
	r.produce(partition, text)
	for _, w := range strings.Fields(text) {
		r.truth[w]++
	}
}

// produce produces one record that the truth knows nothing of.
func (r *rig) produce(partition int32, text string) {
	r.Helper()
	r.must(r.broker.Produce(sentences, partition, broker.Record{Value: []byte(text)}))
	r.fed++
}

// column reads a bigint column of a state. Without an exchange a key may be in several buckets, which
// are added up.
func (r *rig) column(operator string, i int) map[string]int64 {
	r.Helper()
	sums := map[string]int64{}
	for _, rows := range r.store.Dump(&state.Table{Operator: operator}) {
		for key, row := range rows {
			f, _, err := exchange.NextField([]byte(key))
			r.must(err)
			if _, twice := sums[string(f.Text())]; twice && !r.plan.Stages[0].Outs[0].Direct {
				r.Fatalf("%s is in two buckets of %s", f.Text(), operator)
			}
			sums[string(f.Text())] += row.Value[i].(int64)
		}
	}
	return sums
}

// difference tells where a column differs from what it should be, "" if nowhere.
func difference(got, want map[string]int64) string {
	var wrong []string
	for _, word := range slices.Sorted(maps.Keys(want)) {
		if got[word] != want[word] {
			wrong = append(wrong, fmt.Sprintf("%s is %d, want %d", word, got[word], want[word]))
		}
	}
	for _, word := range slices.Sorted(maps.Keys(got)) {
		if _, known := want[word]; !known {
			wrong = append(wrong, fmt.Sprintf("%s is %d and should not be there", word, got[word]))
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	return fmt.Sprintf("%d wrong: %s", len(wrong), strings.Join(wrong[:min(5, len(wrong))], "; "))
}

// inexact tells what is wrong with the counts, and with what the state behind them was handed.
func (r *rig) inexact() string {
	r.Helper()
	d := difference(r.column("counts", 0), r.truth)
	if d != "" || !r.chained() {
		return d
	}
	if d = difference(r.column("newest", 1), r.truth); d != "" {
		return "newest values: " + d
	}
	changes := r.column("newest", 0)
	for word, n := range r.truth {
		if n == 1 && changes[word] != 1 {
			return fmt.Sprintf("the one value of %s was handed on %d times", word, changes[word])
		}
	}
	return ""
}

func (r *rig) chained() bool { return r.plan.Stages[len(r.plan.Stages)-1].Operator == "newest" }

func (r *rig) wantExact() {
	r.Helper()
	if d := r.inexact(); d != "" {
		r.Fatal(d)
	}
}

// until waits, on the bubble's clock, for something to become true.
func (r *rig) until(what string, is func() bool) {
	r.Helper()
	for range 3000 {
		if is() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.Fatalf("a minute passed and still not: %s", what)
}

func (r *rig) untilExact() {
	r.Helper()
	for range 3000 {
		if r.inexact() == "" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.Fatalf("a minute passed and still %s", r.inexact())
}

func (r *rig) progress(op runtime.OperatorID) []protocol.Progress {
	r.Helper()
	rows, err := r.store.Load(context.Background(), op)
	r.must(err)
	return rows
}

func (r *rig) holders() []store.Holder {
	r.Helper()
	holders, err := r.store.Holders(context.Background(), runtime.Incarnation{})
	r.must(err)
	return holders
}

// letters are the dead letters by their payload.
func (r *rig) letters() map[string]store.DeadLetter {
	found := map[string]store.DeadLetter{}
	for _, l := range r.store.Letters() {
		if other, twice := found[string(l.Payload)]; twice {
			r.Errorf("two dead letters of one record: %+v and %+v", other, l)
		}
		found[string(l.Payload)] = l
	}
	return found
}

// container is one Run of the rig's topology, with links of its own to broker and store, on which
// faults can be planted.
type container struct {
	*rig
	*faults
	Config
	cancel context.CancelFunc
	ended  chan error
}

func (r *rig) container(change ...func(*Config)) *container {
	c := &container{rig: r, faults: &faults{}, ended: make(chan error, 1)}
	c.Config = Config{
		Plan: r.plan, Topology: r.id, Name: "first", Lease: time.Second,
		Broker: &brokerLink{r.broker, c.faults}, Store: &storeLink{r.store, c.faults},
		Log: slog.New(slog.DiscardHandler), Vitals: new(vitals.Container),
	}
	for _, f := range change {
		f(&c.Config)
	}
	return c
}

func (c *container) start() *container {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.Cleanup(cancel)
	go func() { c.ended <- Run(ctx, c.Config) }()
	return c
}

// end waits for the container to end by itself.
func (c *container) end() error {
	c.Helper()
	defer c.cancel()
	select {
	case err := <-c.ended:
		return err
	case <-time.After(10 * time.Minute):
		c.Fatal("the container does not end")
	}
	return nil
}

// drain asks the container to end.
func (c *container) drain() error {
	c.Helper()
	c.cancel()
	return c.end()
}

func (c *container) catchUp() error {
	c.Helper()
	c.UntilCaughtUp = true
	return c.start().end()
}

// catchUp runs until all that was fed is committed.
func (r *rig) catchUp(change ...func(*Config)) *container {
	r.Helper()
	c := r.container(change...)
	r.must(c.catchUp())
	return c
}

// sum adds a counter up over the instances of an operator.
func (c *container) sum(op runtime.OperatorID, of func(*vitals.Instance) int64) (n int64) {
	for _, i := range c.Vitals.Instances() {
		if i.Operator == op {
			n += of(i)
		}
	}
	return n
}

// wantError waits for the container to end with an error of a type, and answers it.
func wantError[E error](c *container) E {
	c.Helper()
	var want E
	if err := c.end(); !errors.As(err, &want) {
		c.Fatalf("the container ended with %v, want a %T", err, want)
	}
	return want
}

// wantIs waits for the container to end with an error.
func (c *container) wantIs(want error) {
	c.Helper()
	if err := c.end(); !errors.Is(err, want) {
		c.Fatalf("the container ended with %v, want %v", err, want)
	}
}
