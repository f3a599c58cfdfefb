package worker

import (
	"fmt"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/store"
)

// HeldError: another container runs this topology and is alive.
type HeldError struct {
	Topology runtime.TopologyID
	Holder   store.Holder
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("topology %s is already run by %s (incarnation %s), which renewed its lease while this run waited (%s left of it); "+
		"stop that run first, or let its lease end", e.Topology, e.Holder.Name, e.Holder.Incarnation, e.Holder.LeaseLeft.Round(time.Millisecond))
}

// ShortReplayError: a transactional spout cannot replay a batch as it was.
type ShortReplayError struct {
	Input     runtime.Input
	TxID      runtime.TxID
	From, To  runtime.Offset
	Want, Got int64
}

func (e *ShortReplayError) Error() string {
	return fmt.Sprintf("%s stopped: the batch of txid %d holds %d records at offsets %d to %d, but the topic now holds only %d of them there "+
		"(deleted by retention, compaction or by hand); a transactional spout must replay the same tuples: "+
		"restore the topic, or make the spout opaque and start it under a new id", e.Input, e.TxID, e.Want, e.From, e.To, e.Got)
}

// SignatureError: a block was made by another version of the operator.
type SignatureError struct {
	Input  runtime.Input
	Offset runtime.Offset
	Reason string
}

func (e *SignatureError) Error() string {
	return fmt.Sprintf("%s stopped at offset %d of its exchange: %s; run the version of sr and of the topology that wrote it until the exchange is drained",
		e.Input, e.Offset, e.Reason)
}

// GrownError: a topic whose partitions are the buckets of state got more of them.
type GrownError struct {
	Topic    string
	Was, Now int
}

func (e *GrownError) Error() string {
	return fmt.Sprintf("topic %s grew from %d to %d partitions, and the topology says that it is partitioned by the grouping key: "+
		"keys now live in other partitions than their state; drop partitionedByKey and start under a new operator id", e.Topic, e.Was, e.Now)
}

// RangeError: the spout's next offset is gone and its policy is to stop.
type RangeError struct {
	Input runtime.Input
	Err   error
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("%s stopped: %v; records between were deleted before they were read; "+
		"set outOfRange: earliest, latest or a timestamp on the spout to go on with the gap counted", e.Input, e.Err)
}

func (e *RangeError) Unwrap() error { return e.Err }
