package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

var errReaderClosed = errors.New("the reader is closed")

// reader reads partitions of one topic. A source goroutine for each leader fetches at the positions of
// its cursors and holds one haul ready; Poll takes the hauls, which lets the sources fetch the next
// ones; the router goroutine keeps cursors and leaders together.
type reader struct {
	b   *Broker
	cfg broker.ReaderConfig
	cl  *kgo.Client

	ctx   context.Context // ends when the reader is closed
	close context.CancelFunc
	wg    sync.WaitGroup

	arrived chan struct{} // something is ready for Poll
	reroute chan struct{} // the layout is stale

	mu      sync.Mutex
	layout  layout // the topic as last seen; no partitions before that
	misses  int    // descriptions in a row that did not find the topic
	cursors map[int32]*cursor
	paused  map[int32]bool
	sources map[int32]*source // by leader
	faults  []broker.PartitionError
	spare   []*haul
}

// cursor is one Seek's life of a partition. What was fetched for a cursor that Seek or Leave has
// replaced belongs to nobody and is dropped.
type cursor struct {
	partition int32
	// position is the next offset to hand out, and the one to fetch: a haul that was dropped is just
	// fetched again.
	position runtime.Offset
	// leader serves the partition, as far as we know; noLeader until the router says.
	leader, epoch int32
	// served is when the partition last had data: who has waited longest is asked for first.
	served uint64
	// failed cursors have told an error that does not pass; only a Seek goes on.
	failed bool
	// told is the passing fault told last, so that one that lasts is told once.
	told string
}

// NewReader opens a reader that has no partition yet.
func (b *Broker) NewReader(cfg broker.ReaderConfig) (broker.Reader, error) {
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 16 << 20
	}
	if cfg.MaxPartitionBytes == 0 {
		cfg.MaxPartitionBytes = 4 << 20
	}
	if cfg.MaxWait == 0 {
		cfg.MaxWait = 250 * time.Millisecond
	}
	cl, err := kgo.NewClient(append(b.opts[:len(b.opts):len(b.opts)],
		// A batch larger than a fetch comes whole all the same; Kafka allows none above this.
		kgo.BrokerMaxReadBytes(max(100<<20, 2*cfg.MaxBytes)))...)
	if err != nil {
		return nil, fmt.Errorf("opening a reader of %s: %w", cfg.Topic, err)
	}
	r := &reader{
		b: b, cfg: cfg, cl: cl,
		arrived: make(chan struct{}, 1), reroute: make(chan struct{}, 1),
		cursors: make(map[int32]*cursor), paused: make(map[int32]bool), sources: make(map[int32]*source),
	}
	r.ctx, r.close = context.WithCancel(context.Background())
	r.wg.Go(r.route)
	return r, nil
}

// Close ends the reader; hauls that were polled stay valid until their Release.
func (r *reader) Close() {
	r.close()
	r.cl.Close()
	r.wg.Wait()
}

func (r *reader) Seek(partition int32, at runtime.Offset) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &cursor{partition: partition, position: at, leader: noLeader}
	r.cursors[partition] = c
	if !r.place(c) {
		wake(r.reroute)
	}
}

func (r *reader) Leave(partition int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.cursors, partition)
	delete(r.paused, partition)
}

func (r *reader) Pause(partitions ...int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range partitions {
		r.paused[p] = true
	}
}

func (r *reader) Resume(partitions ...int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range partitions {
		delete(r.paused, p)
	}
}

// Poll returns what is ready. It is Poll that wakes the sources, so that the seeks before it share one
// fetch.
func (r *reader) Poll(ctx context.Context) (broker.Fetch, error) {
	for {
		if f, some := r.take(); some {
			return f, nil
		}
		select {
		case <-r.arrived:
		case <-ctx.Done():
			return broker.Fetch{Release: func() {}}, nil
		case <-r.ctx.Done():
			return broker.Fetch{Release: func() {}}, fmt.Errorf("polling %s: %w", r.cfg.Topic, errReaderClosed)
		}
	}
}

// take empties the sources, moves the positions, and wakes the sources for the next fetch.
func (r *reader) take() (broker.Fetch, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var f broker.Fetch
	var hauls []*haul
	f.Errors, r.faults = r.faults, nil
	for _, leader := range slices.Sorted(maps.Keys(r.sources)) {
		s := r.sources[leader]
		if h := s.ready; h != nil {
			s.ready = nil
			f.Chunks = r.accept(f.Chunks, h)
			hauls = append(hauls, h)
		}
		wake(s.kick)
	}
	if len(f.Chunks) == 0 {
		r.recycle(hauls)
		hauls = nil
	}
	f.Release = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.recycle(hauls)
		hauls = nil
	}
	return f, len(f.Chunks)+len(f.Errors) > 0
}

// accept moves the cursors over a haul, but for those that were sought or paused since it was asked for,
// or had the same from another leader: after a move of the leader two sources may have fetched it.
func (r *reader) accept(chunks []broker.Chunk, h *haul) []broker.Chunk {
	for _, catch := range h.catches {
		c := catch.cursor
		if r.cursors[c.partition] != c || c.position != catch.position || r.paused[c.partition] {
			continue
		}
		c.position = catch.chunk.Next
		chunks = append(chunks, catch.chunk)
	}
	return chunks
}

// recycle keeps hauls for later fetches, without the memory of the broker's answers.
func (r *reader) recycle(hauls []*haul) {
	for _, h := range hauls {
		h.empty()
		if len(r.spare) <= 2*len(r.sources) {
			r.spare = append(r.spare, h)
		}
	}
}

// pass tells a fault that the reader goes on retrying, once for each cursor that still lives.
func (r *reader) pass(c *cursor, err error) {
	if r.cursors[c.partition] != c || c.failed || c.told == err.Error() {
		return
	}
	c.told = err.Error()
	r.tell(broker.PartitionError{Partition: c.partition, Err: err, Passing: true})
}

// fail tells an error that does not pass; the partition rests until the next Seek.
func (r *reader) fail(c *cursor, err error) {
	if r.cursors[c.partition] != c || c.failed {
		return
	}
	c.failed = true
	r.tell(broker.PartitionError{Partition: c.partition, Err: err})
}

func (r *reader) tell(e broker.PartitionError) {
	r.faults = append(r.faults, e)
	wake(r.arrived)
}

// wake signals a channel of capacity one without waiting: one signal stands for any number.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
