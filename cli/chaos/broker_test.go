//go:build kafka

package chaos

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/selfregulating/sr/connectors/kafka/kafkatest"
)

// A broker of our own: it crashes and restarts under load, and its default retention is shorter than
// the pause between two runs.
func TestChaosShortBroker(t *testing.T) {
	t.Parallel()
	kafkatest.Addr(t) // skips like the others
	b, err := kafkatest.Start(context.Background(), kafkatest.Config{
		Dir: t.TempDir(), Heap: "400m", Settings: map[string]string{"log.retention.ms": "1500"},
	})
	must(t, err)
	t.Cleanup(func() { must(t, b.Kill()) })
	lasting := map[string]string{"retention.ms": "-1"}
	t.Run("restart", func(t *testing.T) {
		w := newWorld(t, overChain, setting{kafka: b.Addr(), topic: lasting})
		node := w.start(launch{})
		for _, end := range []struct {
			how string
			by  func() error
		}{{"crash", b.Kill}, {"restart", b.Stop}} {
			fed := w.feeding(20_000)
			w.moves(1_000)
			must(t, end.by())
			must(t, b.Restart(context.Background()))
			fed()
			w.reaches(node, w.fed())
			tally.fault("broker " + end.how)
		}
		node.kill()
		w.settle(launch{})
	})
	t.Run("pause longer than the default retention", func(t *testing.T) {
		w := newWorld(t, overExchange, setting{kafka: b.Addr(), topic: lasting})
		w.feed(10_000)
		w.start(launch{crashAt: "keyed-committing"}).crashesAt("keyed-committing")
		w.pause()
		w.settle(launch{})
		tally.fault("pause longer than the default retention")
	})
	t.Run("source whose records have expired", func(t *testing.T) {
		w := newWorld(t, overExchange, setting{kafka: b.Addr(), topic: lasting})
		w.feed(1_000)
		w.start(launch{untilCaughtUp: true}).succeeds()
		w.feed(1_000)
		w.expires()
		w.start(launch{}).stopsWith("records between were deleted before they were read")
		tally.fault("source records expired")
	})
}

// pause lasts until a topic with the broker's default retention has lost its records.
func (w *world) pause() {
	w.t.Helper()
	control := newFeeder(w.t, w.kafka, w.topic+".control", w.rand)
	control.create(1, nil)
	control.feed(10)
	w.expired(control.topic)
}

// expires lets the records of the topic expire.
func (w *world) expires() {
	w.t.Helper()
	w.alter("retention.ms", "100")
	w.expired(w.topic)
}

// alter changes a setting of the topic.
func (f *feeder) alter(setting, to string) {
	f.t.Helper()
	answers, err := f.adm.AlterTopicConfigs(context.Background(), []kadm.AlterConfig{{Name: setting, Value: &to}}, f.topic)
	must(f.t, err)
	_, err = answers.On(f.topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	must(f.t, err)
}

// expired waits until every record of a topic is gone.
func (w *world) expired(topic string) {
	w.t.Helper()
	eventually(w.t, "the end of retention", func() bool {
		starts, err := w.adm.ListStartOffsets(context.Background(), topic)
		must(w.t, err)
		ends, err := w.adm.ListEndOffsets(context.Background(), topic)
		must(w.t, err)
		left := int64(0)
		ends.Each(func(end kadm.ListedOffset) {
			start, _ := starts.Lookup(topic, end.Partition)
			left += end.Offset - start.Offset
		})
		return left == 0
	})
}
