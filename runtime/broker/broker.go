// Package broker is what sr needs of a partitioned log: topics, offsets, readers and appenders.
// connectors/kafka implements it on Kafka and connectors/memory in memory; both pass the suite in
// brokertest. runtime/worker uses it for sources and for exchanges alike.
package broker

import (
	"context"
	"time"

	"github.com/selfregulating/sr/runtime"
)

// Broker is a connection to a log. Its methods are safe for concurrent use.
type Broker interface {
	// Topic describes a topic: ErrNoTopic if there is none, ErrNoPermission if it may not be seen.
	Topic(ctx context.Context, name string) (Topic, error)
	// Offsets lists log start, last stable offset and high watermark of every partition. A partition
	// whose answer is missing (no leader) is absent from the map: unknown, never zero.
	Offsets(ctx context.Context, topic string) (map[int32]Offsets, error)
	// OffsetsAt lists, by partition, the first offset whose record is not older than t; the end if
	// there is none.
	OffsetsAt(ctx context.Context, topic string, t time.Time) (map[int32]runtime.Offset, error)
	// EnsureExchange creates the topic of an exchange, or verifies that the one there has the
	// partitions and settings that blocks need: no retention, no compaction, no unclean election.
	EnsureExchange(ctx context.Context, x Exchange) (Topic, error)
	// Trim deletes the records below the offsets, by partition; correctness never relies on it.
	Trim(ctx context.Context, topic string, below map[int32]runtime.Offset) error
	// DeleteTopic deletes a topic; one that is gone is no error.
	DeleteTopic(ctx context.Context, topic string) error
	// NewReader opens a reader that has no partition yet.
	NewReader(ReaderConfig) (Reader, error)
	// NewAppender opens an idempotent producer that waits for all in-sync replicas.
	NewAppender(AppenderConfig) (Appender, error)
	Close()
}

// Topic is one life of a topic.
type Topic struct {
	Name       string
	ID         runtime.TopicID
	Partitions int
}

// Offsets bound a partition: records from Start up to End (exclusive), of which those below Stable
// belong to no open transaction.
type Offsets struct{ Start, Stable, End runtime.Offset }

// Exchange is what the topic of an exchange has to be.
type Exchange struct {
	Topic   string
	Buckets int
	// Replication is the replication factor wanted; 0 takes the broker's default. With 3 or more, min ISR is 2.
	Replication int
	// SegmentBytes defaults to 16 MiB, MaxMessageBytes to 8 MiB.
	SegmentBytes, MaxMessageBytes int
}

// ReaderConfig says how a topic is read.
type ReaderConfig struct {
	Topic string
	// TopicID, if set, must stay the topic's: a re-created topic is a RecreatedError.
	TopicID runtime.TopicID
	// ReadCommitted hides records of open and aborted transactions.
	ReadCommitted bool
	// MaxBytes bounds one fetch from a broker (default 16 MiB), MaxPartitionBytes one partition's share (4 MiB).
	MaxBytes, MaxPartitionBytes int32
	// MaxWait is how long a broker may hold an empty fetch back (default 250 ms).
	MaxWait time.Duration
}

// Reader reads partitions by explicit offset; there is no group. One goroutine uses it at a time,
// except for Close.
type Reader interface {
	// Seek starts reading a partition at an offset, or moves it there; records fetched before are dropped.
	Seek(partition int32, at runtime.Offset)
	// Leave stops reading a partition.
	Leave(partition int32)
	// Pause stops fetching these partitions and holds back what was fetched; Resume goes on.
	Pause(partitions ...int32)
	Resume(partitions ...int32)
	// Poll returns what has arrived, waiting until something does or ctx ends (an empty fetch then).
	// An error is one of the whole reader; those of a partition are in the fetch.
	Poll(ctx context.Context) (Fetch, error)
	Close()
}

// Fetch is what a poll returned. Records are views into its memory, valid until Release.
type Fetch struct {
	Chunks []Chunk
	// Errors are by partition: OutOfRangeError, RecreatedError, ErrNoTopic, ErrNoPermission, or a
	// passing fault that the reader goes on retrying (then for information only, Passing is true).
	Errors  []PartitionError
	Release func()
}

// Chunk is a run of records of one partition, in order.
type Chunk struct {
	Partition int32
	Records   []Record
	// Next is the offset after the chunk, past control records and gaps at its end; a chunk without
	// records moves the position over a tail that holds none (markers, compaction).
	Next runtime.Offset
	// End is where the partition ended for this reader when it was fetched (last stable offset or high
	// watermark); End - Next is what waits. Negative if unknown.
	End runtime.Offset
}

// Record is one record of a log.
type Record struct {
	Offset      runtime.Offset
	LeaderEpoch int32
	// Timestamp is the record's, in milliseconds since 1970.
	Timestamp  int64
	Key, Value []byte
	Headers    []Header
}

// Header is a record header.
type Header struct {
	Key   string
	Value []byte
}

// AppenderConfig says how blocks are produced.
type AppenderConfig struct {
	// MaxMessageBytes bounds one record (default 8 MiB).
	MaxMessageBytes int32
	// Timeout bounds the whole life of a produce (default 30 s); after it the block is given up.
	Timeout time.Duration
}

// Appender produces blocks.
type Appender interface {
	// Append produces value to a partition and calls done once, from any goroutine: with nil after all
	// in-sync replicas have it, else with the reason (then it may or may not be in the log). value must
	// stay unchanged until done.
	Append(ctx context.Context, topic string, partition int32, value []byte, done func(error))
	Close()
}
