package worker

import (
	"errors"
	"log/slog"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/vitals"
)

// Config of a container. Zero values mean the defaults in the comments.
type Config struct {
	// Plan is what to run; Topology the incarnation that the store opened for it.
	Plan     *topology.Plan
	Topology runtime.TopologyID
	Broker   broker.Broker
	Store    store.Store
	// Name of the container, for people (default: host name and process id).
	Name string
	// Lease is how long the container may be silent before another may take over (default 3 s).
	Lease time.Duration
	// Freshness is how old the oldest tuple of a batch gets before the batch is closed, while there is
	// no backlog (default 15 ms). With backlog it is no bound.
	Freshness time.Duration
	// BatchBytes and BatchTime close a source batch while there is backlog (defaults 4 MB of encoded
	// aggregates, 500 ms).
	BatchBytes int
	BatchTime  time.Duration
	// CommitRows bounds a transaction: whole buckets are added while it has fewer rows (default 10,000).
	CommitRows int
	// CommitTime is for how long a bucket of a key set larger than that gathers before it is committed
	// (default 1.25 s), so that its commits are dense.
	CommitTime time.Duration
	// HighBytes is the backlog of a keyed instance at which the stages that feed it are held (default
	// 64 MiB); they go on at half of it. HighAge is the age of the oldest merged and uncommitted block at
	// which they are held (default 1.5 s); they go on at nine tenths.
	HighBytes int
	HighAge   time.Duration
	// CacheBytes bounds the rows that an instance remembers of a state that it reads, modifies and
	// writes (default 64 MiB).
	CacheBytes int
	// Replication of exchange topics (default: the broker's).
	Replication int
	// TrimMargin is how long consumed blocks are kept, so that the store can be restored to an earlier
	// time (default 1 h), TrimBytes how many of them an exchange keeps at most (default 4 GiB).
	TrimMargin time.Duration
	TrimBytes  int64
	// UntilCaughtUp ends Run with nil when all input present at the start is committed.
	UntilCaughtUp bool
	// DrainTime bounds the work after ctx ends (default 10 s).
	DrainTime time.Duration
	Log       *slog.Logger
	Vitals    *vitals.Container
}

func (c *Config) validate() error {
	switch {
	case c.Plan == nil || len(c.Plan.Stages) == 0:
		return errors.New("worker: a plan with at least one stage is needed")
	case c.Broker == nil || c.Store == nil:
		return errors.New("worker: a broker and a store are needed")
	case c.Lease < 0 || c.Freshness < 0 || c.BatchTime < 0:
		return errors.New("worker: durations cannot be negative")
	}
	return nil
}

func (c *Config) defaults() {
	def(&c.Lease, 3*time.Second)
	def(&c.Freshness, 15*time.Millisecond)
	def(&c.BatchBytes, 4<<20)
	def(&c.BatchTime, 500*time.Millisecond)
	def(&c.CommitRows, 10_000)
	def(&c.CommitTime, 1250*time.Millisecond)
	def(&c.HighBytes, 64<<20)
	def(&c.HighAge, 1500*time.Millisecond)
	def(&c.CacheBytes, 64<<20)
	def(&c.TrimMargin, time.Hour)
	def(&c.TrimBytes, 4<<30)
	def(&c.DrainTime, 10*time.Second)
	def(&c.Name, containerName())
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Vitals == nil {
		c.Vitals = new(vitals.Container)
	}
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
