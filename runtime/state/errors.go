package state

import (
	"errors"
	"fmt"

	"github.com/selfregulating/sr/runtime"
)

var (
	// ErrTxIDBehind is the kind of a TxIDBehindError.
	ErrTxIDBehind = errors.New("txid behind the stored one")
	// ErrNoCommit is an update or a commit where no commit is open.
	ErrNoCommit = errors.New("no commit is open: it starts with BeginCommit, and after an error starts with BeginCommit again")
	// ErrNoTxID is a commit without a txid (or one below 1) of rows whose rule needs one.
	ErrNoTxID = errors.New("transactional and opaque rows are updated by batches with a txid only: use a non-transactional state, or a spout with txids")
	// ErrInFlight is a write without a txid over batches that are not yet known to be committed.
	ErrInFlight = errors.New("a write without a txid cannot be ordered among the batches in flight: wait for their outcome first")
	// ErrOverflow is a sum outside the range of its type.
	ErrOverflow = errors.New("sum out of range")
)

// TxIDBehindError says that a row was written by a later batch than the one being committed. It is
// terminal: the same batch will meet the same row, so it must not be retried.
type TxIDBehindError struct {
	// Key is the key of the row, of the map's key type.
	Key any
	// Current is the txid of the batch, Stored that of the row.
	Current, Stored runtime.TxID
}

func (e *TxIDBehindError) Error() string {
	return fmt.Sprintf("the row of key %#v was written by txid %d, but this batch is txid %d: progress went back (a restore?) "+
		"or something else writes these rows; bring state and progress to the same point before going on", e.Key, e.Stored, e.Current)
}

// Unwrap makes errors.Is(err, ErrTxIDBehind) true.
func (e *TxIDBehindError) Unwrap() error { return ErrTxIDBehind }

// CountError says that two lists that belong together differ in length.
type CountError struct {
	// What was counted.
	What string
	// Want is how many there should be, Got how many there were.
	Want, Got int
}

func (e *CountError) Error() string {
	return fmt.Sprintf("%d %s where %d were expected: there must be one for each, in order", e.Got, e.What, e.Want)
}

func sameCount(what string, want, got int) error {
	if want == got {
		return nil
	}
	return &CountError{What: what, Want: want, Got: got}
}
