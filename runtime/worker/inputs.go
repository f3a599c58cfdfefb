package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/topology"
)

// ExchangeTopic names the topic of the exchange before a keyed operator:
// sr.<topology>.<operator>.<8 hex of the incarnation>.
func ExchangeTopic(id runtime.TopologyID, op runtime.OperatorID) string {
	name, hex, _ := strings.Cut(string(id), ".")
	return fmt.Sprintf("sr.%s.%s.%s", name, op, hex)
}

// prepareSpout looks at the source topic and inserts progress rows for partitions that have none.
// Those of a spout that has rows already are new partitions, which begin at the earliest offset; where
// partitions are buckets they are a *GrownError.
func (w *worker) prepareSpout(ctx context.Context, stage *topology.Stage) (broker.Topic, error) {
	s := stage.Spout
	topic, err := w.Broker.Topic(ctx, s.Topic)
	if err != nil {
		return topic, fmt.Errorf("looking up topic %s of spout %s: %w", s.Topic, s.ID, err)
	}
	rows, err := w.Store.Load(ctx, s.ID)
	if err != nil {
		return topic, fmt.Errorf("reading the progress of %s: %w", s.ID, err)
	}
	for _, r := range rows {
		if !r.TopicID.IsZero() && !topic.ID.IsZero() && r.TopicID != topic.ID {
			return topic, &broker.RecreatedError{Topic: s.Topic, Want: r.TopicID, Got: topic.ID}
		}
	}
	if len(rows) >= topic.Partitions {
		return topic, nil
	}
	start := s.Start
	if len(rows) > 0 {
		if slices.ContainsFunc(stage.Outs, func(e *topology.Edge) bool { return e.Direct }) {
			return topic, &GrownError{s.Topic, len(rows), topic.Partitions}
		}
		start = topology.Start{At: topology.AtEarliest}
	}
	return topic, w.addPartitions(ctx, s, topic, start, len(rows))
}

func (w *worker) addPartitions(ctx context.Context, s *topology.Spout, topic broker.Topic, start topology.Start, known int) error {
	at, err := w.startOffsets(ctx, s.Topic, start)
	if err != nil {
		return fmt.Errorf("finding where spout %s starts in %s: %w", s.ID, s.Topic, err)
	}
	var add []protocol.Progress
	for p := int32(known); p < int32(topic.Partitions); p++ {
		offset, ok := at[p]
		if !ok {
			return fmt.Errorf("finding where spout %s starts in %s[%d]: the partition has no leader: %w", s.ID, s.Topic, p, broker.ErrUnreachable)
		}
		add = append(add, protocol.Progress{Input: runtime.Input{Operator: s.ID, Partition: p}, Position: offset, TopicID: topic.ID})
	}
	if err := w.Store.AddInputs(ctx, add); err != nil {
		return fmt.Errorf("adding the partitions of %s: %w", s.ID, err)
	}
	return nil
}

func (w *worker) startOffsets(ctx context.Context, topic string, start topology.Start) (map[int32]runtime.Offset, error) {
	if start.At == topology.AtTime {
		return w.Broker.OffsetsAt(ctx, topic, start.Time)
	}
	offsets, err := w.Broker.Offsets(ctx, topic)
	at := make(map[int32]runtime.Offset, len(offsets))
	for p, o := range offsets {
		at[p] = o.Start
		if start.At == topology.AtLatest {
			at[p] = o.End
		}
	}
	return at, err
}

// prepareExchange makes or verifies the topic before a keyed operator and its buckets' rows.
func (w *worker) prepareExchange(ctx context.Context, k *topology.Keyed) (broker.Topic, error) {
	name := ExchangeTopic(w.Topology, k.Operator)
	rows, err := w.Store.Load(ctx, k.Operator)
	if err != nil {
		return broker.Topic{}, fmt.Errorf("reading the progress of %s: %w", k.Operator, err)
	}
	if len(rows) > 0 {
		if _, err := w.Broker.Topic(ctx, name); errors.Is(err, broker.ErrNoTopic) {
			return broker.Topic{}, fmt.Errorf("exchange topic %s is gone, and with it blocks that their sources count as done: "+
				"restore it, or purge the topology and rebuild: %w", name, err)
		}
	}
	topic, err := w.Broker.EnsureExchange(ctx, broker.Exchange{Topic: name, Buckets: k.Buckets, Replication: w.Replication})
	if err != nil {
		return topic, fmt.Errorf("preparing exchange %s: %w", name, err)
	}
	var add []protocol.Progress
	for b := int32(0); b < int32(k.Buckets); b++ {
		add = append(add, protocol.Progress{Input: runtime.Input{Operator: k.Operator, Partition: b}, TopicID: topic.ID})
	}
	if len(rows) < k.Buckets {
		if err := w.Store.AddInputs(ctx, add); err != nil {
			return topic, fmt.Errorf("adding the buckets of %s: %w", k.Operator, err)
		}
	}
	for _, r := range rows {
		if !r.TopicID.IsZero() && !topic.ID.IsZero() && r.TopicID != topic.ID {
			return topic, &broker.RecreatedError{Topic: name, Want: r.TopicID, Got: topic.ID}
		}
	}
	return topic, nil
}

// grow looks for new partitions of the source topics until ctx ends, and hands their rows out.
func (w *worker) grow(ctx context.Context) error {
	missing := 0 // a broker that starts may not know its topics yet
	for {
		if sleep(ctx, growEvery) != nil {
			return nil
		}
		for _, g := range w.groups {
			if g.stage.Spout == nil {
				continue
			}
			err := w.growSpout(ctx, g)
			if errors.Is(err, broker.ErrNoTopic) {
				missing++
			} else {
				missing = 0
			}
			if err != nil {
				if terminal(err) && (missing == 0 || missing >= 5) {
					return err
				}
				if ctx.Err() == nil {
					w.Log.Warn("new partitions could not be looked for; trying on", "spout", g.stage.Operator, "error", err)
				}
			}
		}
	}
}

const growEvery = 2 * time.Second

func (w *worker) growSpout(ctx context.Context, g *group) error {
	s := g.stage.Spout
	topic, err := w.Broker.Topic(ctx, s.Topic)
	if err != nil || topic.Partitions <= g.partitions {
		return err
	}
	if _, err := w.prepareSpout(ctx, g.stage); err != nil {
		return err
	}
	if err := w.Store.Assign(ctx, w.self.Incarnation, s.ID); err != nil {
		return fmt.Errorf("taking the new partitions of %s: %w", s.ID, err)
	}
	w.Log.Info("topic grew", "topic", s.Topic, "from", g.partitions, "to", topic.Partitions)
	g.partitions = topic.Partitions
	for _, i := range g.instances {
		if s, ok := i.(*source); ok {
			s.reload()
		}
	}
	return nil
}
