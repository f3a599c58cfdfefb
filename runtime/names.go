package runtime

import (
	"fmt"

	"github.com/google/uuid"
)

// TopologyID names one incarnation of a topology: "<name>.<8 hex digits>". Every row and every
// exchange topic carries it, so that a fresh database never meets the rows or blocks of an older life.
type TopologyID string

// NewTopologyID makes the id of a new incarnation of the topology called name.
func NewTopologyID(name string) TopologyID {
	u := uuid.New()
	return TopologyID(fmt.Sprintf("%s.%x", name, u[:4]))
}

// OperatorID names an operator within its topology.
type OperatorID string

// Bucket is one partition of an exchange: the unit of state and of handoff.
type Bucket = int32

// Input names a source partition or a bucket: whatever has a progress row.
type Input struct {
	// Operator is the spout that reads the partition, or the keyed operator that owns the bucket.
	Operator OperatorID
	// Partition is the number of the source partition or of the bucket.
	Partition int32
}

func (i Input) String() string { return fmt.Sprintf("%s[%d]", i.Operator, i.Partition) }

// Compare orders inputs by operator, then partition: the order in which their rows are locked.
func (i Input) Compare(j Input) int {
	switch {
	case i.Operator < j.Operator:
		return -1
	case i.Operator > j.Operator:
		return 1
	}
	return int(i.Partition) - int(j.Partition)
}

// TxID numbers the batches of one input: strictly increasing, without gaps, from 1. 0 is "none yet".
type TxID int64

// Epoch is the fencing number of an ownership; it grows each time an input changes hands.
type Epoch int64

// Seq numbers the batches of a writer, from 1. 0 is "none yet".
type Seq int64

// Offset is a position in a partition of a log: that of the next record to read.
type Offset = int64

// Incarnation is one life of a container.
type Incarnation uuid.UUID

// NewIncarnation makes a random incarnation.
func NewIncarnation() Incarnation { return Incarnation(uuid.New()) }

func (i Incarnation) String() string { return uuid.UUID(i).String() }

// IsZero tells whether i names no container.
func (i Incarnation) IsZero() bool { return i == Incarnation{} }

// WriterID is one life of one instance as a producer of blocks. It is random, never a sequence:
// after a restore of Postgres to an earlier time a number would be used twice.
type WriterID uuid.UUID

// NewWriterID makes a random writer id.
func NewWriterID() WriterID { return WriterID(uuid.New()) }

func (w WriterID) String() string { return uuid.UUID(w).String() }

// IsZero tells whether w names no writer.
func (w WriterID) IsZero() bool { return w == WriterID{} }

// TopicID is Kafka's id of one life of a topic (KIP-516).
type TopicID uuid.UUID

func (t TopicID) String() string { return uuid.UUID(t).String() }

// IsZero tells whether the id is unknown.
func (t TopicID) IsZero() bool { return t == TopicID{} }
