package topology

import (
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

// Plan is a topology ready to run: operators fused into stages, with exchanges between them.
// It is immutable; every instance builds its own functions from it.
type Plan struct {
	Name   string
	Stages []*Stage
	// Outputs are the guarantees derived, one for each state.
	Outputs []Guarantee
	// Warnings are what sr plan and sr run print beside it.
	Warnings []string
	// Kafka is how the topology says to reach Kafka; nil if it does not.
	Kafka *KafkaSettings
}

// Stage is a run of fused operators between two exchanges. Exactly one of Spout and Keyed is set.
type Stage struct {
	// Operator names the stage's inputs: the spout's id or the keyed operator's.
	Operator runtime.OperatorID
	// Operators lists what is fused into the stage, in order, for people.
	Operators []string
	Spout     *Spout
	Keyed     *Keyed
	// Outs are the edges that leave the stage, in the order of the tables that its functions fill.
	Outs        []*Edge
	Parallelism int
	// Source builds the function of a spout stage: it handles one record, adding to the tables (one
	// per edge) and committing nothing; the caller commits or aborts the record in every table.
	// The record and what is made of it are valid during the call only.
	Source func(outs []*exchange.Table) func(partition int32, r *broker.Record) error
}

// SpoutKind is what a replay of a txid holds.
type SpoutKind uint8

const (
	// Opaque: perhaps other tuples; every tuple succeeds in exactly one batch.
	Opaque SpoutKind = iota
	// Transactional: exactly the same tuples.
	Transactional
	// AtLeastOnce: non-transactional, progress after output.
	AtLeastOnce
	// AtMostOnce: non-transactional, progress before output.
	AtMostOnce
)

// Start is where a spout begins in a partition that has no progress row yet. Partitions that
// appear later always begin at the earliest offset.
type Start struct {
	At   StartAt
	Time time.Time // with AtTime
}

// StartAt is a kind of Start.
type StartAt uint8

// Where a spout may start.
const (
	AtEarliest StartAt = iota
	AtLatest
	AtTime
)

// RangePolicy is what happens when the next offset is not in the log any more.
type RangePolicy struct {
	// Stop is the default: stop and explain. Otherwise go on at To, with the gap counted and logged.
	Skip bool
	To   Start
}

// Spout is the source of a stage.
type Spout struct {
	ID            runtime.OperatorID
	Topic         string
	Kind          SpoutKind
	Start         Start
	OutOfRange    RangePolicy
	ReadCommitted bool
	// Retries is how often a record whose function failed is tried again before it is a dead letter.
	Retries int
}

// Edge leads from a stage to a keyed operator.
type Edge struct {
	To *Keyed
	// Direct edges need no exchange: the source topic is partitioned by the key, so that bucket =
	// source partition and the state is written in the source batch's own commit.
	Direct bool
}

// Keyed is an operator that keeps state by key.
type Keyed struct {
	Operator runtime.OperatorID
	Table    *state.Table
	// Layout describes the cells of an entry on the way here.
	Layout exchange.Layout
	// Combine tells whether partial aggregates are made before the exchange.
	Combine bool
	// Buckets is the number of partitions of the exchange, as in Table; behind a Direct edge both are 0
	// until the runner knows the partitions of the source topic.
	Buckets int
	// Signature is the identity of what travels in the blocks: key types, layout, aggregates. A block
	// with another signature stops the bucket.
	Signature uint64
	// Reduce is set when the state is read, modified and written in memory; nil when it folds in SQL.
	Reduce Reduce
	// Emit builds the function that new values are given to, for a stage with edges behind it; nil if
	// none. It handles one key of a batch with its new row. Stages with Emit read, modify and write.
	Emit func(outs []*exchange.Table) func(key []byte, row []any) error
}

// Reduce folds one entry into the value of its key. old is nil where there is no row; the answer
// has one value per aggregate column.
type Reduce func(key []byte, old []any, entry exchange.Entry) ([]any, error)

// Guarantee is what was derived for one output.
type Guarantee struct {
	Output  string
	Spout   SpoutKind
	State   state.Kind
	Promise string // "exactly once", "at least once", "at most once", "none"
	// Why names the rule that gives it, Cost what it costs.
	Why, Cost string
}
