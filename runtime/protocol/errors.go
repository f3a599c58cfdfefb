package protocol

import (
	"errors"
	"fmt"

	"github.com/selfregulating/sr/runtime"
)

// ErrLost: an assertion of a commit touched no row. The caller forgets what it built, reloads the
// rows and builds again. Only a changed owner or epoch in the reloaded row means that it was fenced.
var ErrLost = errors.New("the rows are not as this instance believed")

// ErrUnknown: the connection was lost while the commit was under way. It may still happen later.
var ErrUnknown = errors.New("the outcome of the commit is unknown")

// ErrFenced: the container was fenced; it may open no writer and own nothing more.
var ErrFenced = errors.New("this container was fenced by another")

// GapError: a decided block says that another block of its writer stood before it in this bucket,
// which was never read: Kafka lost an acknowledged block.
type GapError struct {
	Input         runtime.Input
	Offset        runtime.Offset
	Writer        runtime.WriterID
	Seq           runtime.Seq
	Prev, Applied runtime.Seq
}

func (e *GapError) Error() string {
	return fmt.Sprintf("%s stopped: the block at offset %d (writer %s, seq %d) follows seq %d of that writer, but the last one read is seq %d, "+
		"so Kafka lost an acknowledged block (an unclean leader election, or records deleted by hand); "+
		"restore the exchange topic, or kill the topology with --purge and rebuild its state from the source",
		e.Input, e.Offset, e.Writer, e.Seq, e.Prev, e.Applied)
}

// WentBackError: the store knows less of a writer than this bucket has applied: a shard went back in time.
type WentBackError struct {
	Input     runtime.Input
	Writer    runtime.WriterID
	Applied   runtime.Seq
	Committed runtime.Seq
}

func (e *WentBackError) Error() string {
	return fmt.Sprintf("%s stopped: it has applied seq %d of writer %s, but that writer's row says %d: "+
		"a Postgres database went back in time without the other; restore all of them to one moment",
		e.Input, e.Applied, e.Writer, e.Committed)
}
