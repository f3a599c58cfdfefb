package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

var errReaderClosed = errors.New("the reader is closed")

// reader reads one topic. Its fields are used by one goroutine, but for closed.
type reader struct {
	b       *Broker
	cfg     broker.ReaderConfig
	cursors map[int32]*cursor
	paused  map[int32]bool
	closed  chan struct{}
	once    sync.Once
}

// cursor is one Seek's life of a partition.
type cursor struct {
	position runtime.Offset
	failed   bool // an error was told that only a Seek ends
	told     bool // a passing fault was told
}

// NewReader opens a reader that has no partition yet.
func (b *Broker) NewReader(cfg broker.ReaderConfig) (broker.Reader, error) {
	cfg.MaxPartitionBytes = cmp.Or(cfg.MaxPartitionBytes, 4<<20)
	return &reader{
		b: b, cfg: cfg,
		cursors: make(map[int32]*cursor), paused: make(map[int32]bool), closed: make(chan struct{}),
	}, nil
}

func (r *reader) Close() { r.once.Do(func() { close(r.closed) }) }

func (r *reader) Seek(partition int32, at runtime.Offset) {
	r.cursors[partition] = &cursor{position: at}
}

func (r *reader) Leave(partition int32) {
	delete(r.cursors, partition)
	delete(r.paused, partition)
}

func (r *reader) Pause(partitions ...int32) {
	for _, p := range partitions {
		r.paused[p] = true
	}
}

func (r *reader) Resume(partitions ...int32) {
	for _, p := range partitions {
		delete(r.paused, p)
	}
}

func (r *reader) Poll(ctx context.Context) (broker.Fetch, error) {
	for {
		f, news := r.read()
		if len(f.Chunks)+len(f.Errors) > 0 {
			return f, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return f, nil
		case <-r.closed:
			return f, fmt.Errorf("polling %s: %w", r.cfg.Topic, errReaderClosed)
		}
	}
}

// read answers what there is now, and a channel that is closed when there may be more.
func (r *reader) read() (broker.Fetch, <-chan struct{}) {
	f := broker.Fetch{Release: func() {}}
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	t, err := r.topic()
	for _, number := range slices.Sorted(maps.Keys(r.cursors)) {
		c := r.cursors[number]
		switch {
		case c.failed || r.paused[number]:
		case err != nil:
			c.failed = true
			f.Errors = append(f.Errors, broker.PartitionError{Partition: number, Err: err})
		case int(number) >= len(t.partitions):
			f.Errors = append(f.Errors, r.pass(c, number)...)
		default:
			r.readPartition(&f, number, c, t.partitions[number])
		}
	}
	return f, r.b.changed
}

// topic finds the topic, and makes sure that it is the one that was read before.
func (r *reader) topic() (*topic, error) {
	t, err := r.b.find(r.cfg.Topic)
	if err != nil {
		return nil, err
	}
	if r.cfg.TopicID.IsZero() {
		r.cfg.TopicID = t.id
	}
	if t.id != r.cfg.TopicID {
		return nil, &broker.RecreatedError{Topic: r.cfg.Topic, Want: r.cfg.TopicID, Got: t.id}
	}
	return t, nil
}

// pass tells once that a partition is not there yet.
func (r *reader) pass(c *cursor, number int32) []broker.PartitionError {
	if c.told {
		return nil
	}
	c.told = true
	err := fmt.Errorf("there is no partition %d of %s", number, r.cfg.Topic)
	return []broker.PartitionError{{Partition: number, Err: err, Passing: true}}
}

func (r *reader) readPartition(f *broker.Fetch, number int32, c *cursor, p *partition) {
	if c.position < p.start || c.position > p.end {
		c.failed = true
		err := &broker.OutOfRangeError{Topic: r.cfg.Topic, Partition: number, At: c.position, Offsets: p.offsets()}
		f.Errors = append(f.Errors, broker.PartitionError{Partition: number, Err: err})
		return
	}
	records, next := p.read(c.position, r.cfg.ReadCommitted, int(r.cfg.MaxPartitionBytes))
	if next > c.position {
		c.position = next
		end := p.end
		if r.cfg.ReadCommitted {
			end = p.offsets().Stable
		}
		f.Chunks = append(f.Chunks, broker.Chunk{Partition: number, Records: records, Next: next, End: end})
	}
}
