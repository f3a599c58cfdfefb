package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

// Broker is a log in memory: the twin of connectors/kafka for tests and demos. It keeps Kafka's manners
// where they matter: topics have ids, transactions end with a marker that takes an offset, and what a
// compaction or trim removed leaves a gap.
type Broker struct {
	mu      sync.Mutex
	topics  map[string]*topic
	changed chan struct{} // closed, and replaced, when there may be news for a reader
}

type topic struct {
	id         runtime.TopicID
	partitions []*partition
	exchange   *broker.Exchange // nil for a topic that EnsureExchange did not make
}

var _ broker.Broker = (*Broker)(nil)

// NewBroker makes an empty log.
func NewBroker() *Broker {
	return &Broker{topics: make(map[string]*topic), changed: make(chan struct{})}
}

// CreateTopic makes a topic for users' records; one of that name is an error.
func (b *Broker) CreateTopic(name string, partitions int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.topics[name]; ok {
		return fmt.Errorf("creating topic %s: it exists", name)
	}
	b.create(name, partitions)
	return nil
}

func (b *Broker) create(name string, partitions int) *topic {
	t := &topic{id: runtime.TopicID(uuid.New())}
	b.topics[name] = t
	t.grow(partitions)
	b.announce()
	return t
}

// Grow gives a topic more partitions.
func (b *Broker) Grow(name string, partitions int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(name)
	if err != nil {
		return fmt.Errorf("growing: %w", err)
	}
	t.grow(partitions)
	b.announce()
	return nil
}

func (t *topic) grow(partitions int) {
	for len(t.partitions) < partitions {
		t.partitions = append(t.partitions, new(partition))
	}
}

// Produce appends records to a partition; their offsets are ignored, and a timestamp of 0 is now.
func (b *Broker) Produce(topic string, partition int32, records ...broker.Record) error {
	return b.produce(nil, topic, partition, records)
}

func (b *Broker) produce(txn *Txn, topic string, partition int32, records []broker.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, err := b.partition(topic, partition)
	if err != nil {
		return fmt.Errorf("producing: %w", err)
	}
	for _, r := range records {
		p.append(r, txn)
	}
	b.announce()
	return nil
}

// Compact removes the records that are not to be kept, as a compaction would: offsets stay. Records of
// open transactions are kept.
func (b *Broker) Compact(topic string, partition int32, keep func(broker.Record) bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, err := b.partition(topic, partition)
	if err != nil {
		return fmt.Errorf("compacting: %w", err)
	}
	p.compact(keep)
	return nil
}

// announce wakes whoever waits for news; b.mu is held.
func (b *Broker) announce() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *Broker) find(name string) (*topic, error) {
	t, ok := b.topics[name]
	if !ok {
		return nil, fmt.Errorf("topic %s: %w", name, broker.ErrNoTopic)
	}
	return t, nil
}

func (b *Broker) partition(name string, number int32) (*partition, error) {
	t, err := b.find(name)
	if err != nil {
		return nil, err
	}
	if int(number) >= len(t.partitions) {
		return nil, fmt.Errorf("there is no partition %d of %s: it has %d", number, name, len(t.partitions))
	}
	return t.partitions[number], nil
}

// Topic describes a topic.
func (b *Broker) Topic(_ context.Context, name string) (broker.Topic, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(name)
	if err != nil {
		return broker.Topic{}, err
	}
	return t.describe(name), nil
}

func (t *topic) describe(name string) broker.Topic {
	return broker.Topic{Name: name, ID: t.id, Partitions: len(t.partitions)}
}

// Offsets lists the bounds of all partitions.
func (b *Broker) Offsets(_ context.Context, topic string) (map[int32]broker.Offsets, error) {
	return listed(b, topic, (*partition).offsets)
}

// OffsetsAt lists the first offsets whose records are not older than at.
func (b *Broker) OffsetsAt(_ context.Context, topic string, at time.Time) (map[int32]runtime.Offset, error) {
	return listed(b, topic, func(p *partition) runtime.Offset { return p.since(at.UnixMilli()) })
}

func listed[V any](b *Broker, topic string, of func(*partition) V) (map[int32]V, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(topic)
	if err != nil {
		return nil, fmt.Errorf("listing offsets: %w", err)
	}
	all := make(map[int32]V, len(t.partitions))
	for i, p := range t.partitions {
		all[int32(i)] = of(p)
	}
	return all, nil
}

// EnsureExchange creates the topic of an exchange, or verifies that the one there was made by it
// with as many buckets and room for as large blocks.
func (b *Broker) EnsureExchange(_ context.Context, x broker.Exchange) (broker.Topic, error) {
	if x.MaxMessageBytes == 0 {
		x.MaxMessageBytes = maxMessageBytes
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.topics[x.Topic]
	switch {
	case !ok:
		t = b.create(x.Topic, x.Buckets)
		t.exchange = &x
	case len(t.partitions) != x.Buckets:
		return broker.Topic{}, fmt.Errorf("%w: topic %s has %d partitions, but the operator has %d buckets", broker.ErrSettings, x.Topic, len(t.partitions), x.Buckets)
	case t.exchange == nil:
		return broker.Topic{}, fmt.Errorf("%w: topic %s was not made for an exchange", broker.ErrSettings, x.Topic)
	case t.exchange.MaxMessageBytes < x.MaxMessageBytes:
		return broker.Topic{}, fmt.Errorf("%w: topic %s takes records of %d bytes, must take %d", broker.ErrSettings, x.Topic, t.exchange.MaxMessageBytes, x.MaxMessageBytes)
	}
	return t.describe(x.Topic), nil
}

// Trim deletes the records below the offsets.
func (b *Broker) Trim(_ context.Context, topic string, below map[int32]runtime.Offset) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(topic)
	if err != nil {
		return fmt.Errorf("trimming: %w", err)
	}
	for number, at := range below {
		if int(number) < len(t.partitions) {
			t.partitions[number].trim(at)
		}
	}
	return nil
}

// DeleteTopic deletes a topic; one that is gone is no error.
func (b *Broker) DeleteTopic(_ context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.topics, name)
	b.announce()
	return nil
}

// Close does nothing: the log lives as long as somebody holds it.
func (b *Broker) Close() {}

// Txn is a transaction; it may span partitions. One goroutine uses it.
type Txn struct {
	b       *Broker
	ended   bool // guarded by b.mu, as is commits
	commits bool
	touched []*partition
}

// Begin begins a transaction.
func (b *Broker) Begin() *Txn { return &Txn{b: b} }

// Produce appends records that readers of committed records see after Commit.
func (t *Txn) Produce(topic string, partition int32, records ...broker.Record) error {
	if err := t.b.produce(t, topic, partition, records); err != nil {
		return err
	}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	if p, err := t.b.partition(topic, partition); err == nil && !slices.Contains(t.touched, p) {
		t.touched = append(t.touched, p)
	}
	return nil
}

// Commit ends the transaction; its records become visible.
func (t *Txn) Commit() { t.end(true) }

// Abort ends the transaction; its records are never seen by readers of committed ones.
func (t *Txn) Abort() { t.end(false) }

// end writes a marker, which takes an offset, to each partition.
func (t *Txn) end(commits bool) {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	t.ended, t.commits = true, commits
	for _, p := range t.touched {
		p.end++
	}
	t.b.announce()
}
