package broker

import (
	"errors"
	"fmt"

	"github.com/selfregulating/sr/runtime"
)

var (
	// ErrNoTopic: the topic does not exist.
	ErrNoTopic = errors.New("no such topic")
	// ErrNoPermission: the broker's ACLs forbid it.
	ErrNoPermission = errors.New("not permitted by the broker")
	// ErrUnreachable: no broker answers, or none of those named lets us in.
	ErrUnreachable = errors.New("the broker cannot be reached")
	// ErrSettings: the topic of an exchange has settings that could lose blocks.
	ErrSettings = errors.New("topic settings that an exchange cannot work with")
	// ErrFull: the broker has no room or refuses records of this size.
	ErrFull = errors.New("the broker did not store the record")
)

// PartitionError is an error of one partition of a fetch.
type PartitionError struct {
	Partition int32
	Err       error
	// Passing errors are retried by the reader itself.
	Passing bool
}

// OutOfRangeError: the offset to read is not in the log.
type OutOfRangeError struct {
	Topic     string
	Partition int32
	At        runtime.Offset
	Offsets   Offsets
}

func (e *OutOfRangeError) Error() string {
	return fmt.Sprintf("offset %d of %s[%d] is out of range: the log holds %d to %d", e.At, e.Topic, e.Partition, e.Offsets.Start, e.Offsets.End)
}

// RecreatedError: the topic is not the one that was read before, so stored offsets mean nothing in it.
type RecreatedError struct {
	Topic     string
	Want, Got runtime.TopicID
}

func (e *RecreatedError) Error() string {
	return fmt.Sprintf("topic %s was deleted and created again (its id is %s, it was %s): the stored offsets belong to the old one; "+
		"to read the new topic from its start give the spout a new id, which is a new stream", e.Topic, e.Got, e.Want)
}
