// Package vitals counts what a container does. Counters are atomic: the loops add, anyone reads.
// cli exports them as sr_* metrics; later issues of the control plane sample them.
package vitals

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/selfregulating/sr/runtime"
)

// Container holds the counters of one container.
type Container struct {
	mu        sync.Mutex
	instances []*Instance
}

// Instance holds the counters of one instance of a stage.
type Instance struct {
	Operator runtime.OperatorID
	Index    int

	// Records read from the source, or blocks from the exchange; Tuples that they stood for.
	Records, Tuples atomic.Int64
	// Bytes read.
	Bytes atomic.Int64
	// Batches committed, Rows of state written, Blocks and their entries produced.
	Batches, Rows, Blocks, Entries atomic.Int64
	// CommitNanos spent in commits, ProduceNanos waiting for acknowledgements.
	CommitNanos, ProduceNanos atomic.Int64
	// Reloads after a lost, unknown or failed batch.
	Reloads atomic.Int64
	// DeadLetters written.
	DeadLetters atomic.Int64
	// Duplicate, Garbage and Orphaned blocks dropped by the rules of the protocol.
	Duplicate, Garbage, Orphaned atomic.Int64
	// SkippedOffsets counts records that an out-of-range policy jumped over.
	SkippedOffsets atomic.Int64
	// PendingBytes held in memory now: undecided blocks and uncommitted partials.
	PendingBytes atomic.Int64
	// Behind is how many records of the source are not gathered yet; -1 while unknown.
	Behind atomic.Int64
	// OldestNanos is when the oldest tuple not yet committed was read (Unix ns), 0 if none waits.
	OldestNanos atomic.Int64
	// HeldNanos is the time spent held by stages behind.
	HeldNanos atomic.Int64

	mu        sync.Mutex
	positions map[int32]runtime.Offset
}

// SetPosition notes the next offset to gather of a partition.
func (i *Instance) SetPosition(partition int32, at runtime.Offset) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.positions == nil {
		i.positions = map[int32]runtime.Offset{}
	}
	i.positions[partition] = at
}

// Positions returns, by source partition, the next offset to gather: what is below it was consumed,
// but perhaps not committed.
func (i *Instance) Positions() map[int32]runtime.Offset {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.positions)
}

// Add makes the counters of one more instance.
func (c *Container) Add(op runtime.OperatorID, index int) *Instance {
	i := &Instance{Operator: op, Index: index}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.instances = append(c.instances, i)
	return i
}

// Instances lists the counters made so far.
func (c *Container) Instances() []*Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.instances)
}
