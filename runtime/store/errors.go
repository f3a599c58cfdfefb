package store

import (
	"errors"
	"fmt"

	"github.com/selfregulating/sr/runtime"
)

var (
	// ErrUnreachable: the database does not answer, or does not let us in.
	ErrUnreachable = errors.New("the database cannot be reached")
	// ErrNoPermission: a grant is missing.
	ErrNoPermission = errors.New("not permitted by the database")
	// ErrFull: the database has no room left.
	ErrFull = errors.New("the database is out of space")
	// ErrNameInUse: a table or view name is taken by something that is not this topology's.
	ErrNameInUse = errors.New("the name is in use")
	// ErrChanged: an operator with this id exists with another identity (buckets, keys, columns, kind).
	ErrChanged = errors.New("the operator's stored identity differs")
)

// DataError: the data of one bucket's fold or row write was refused (overflow, bad text). The caller
// bisects it down to single keys and writes those to the dead letters.
type DataError struct {
	Operator runtime.OperatorID
	Bucket   runtime.Bucket
	// Code is the SQLSTATE.
	Code string
	Err  error
}

func (e *DataError) Error() string {
	return fmt.Sprintf("folding bucket %d of %s: %v", e.Bucket, e.Operator, e.Err)
}

func (e *DataError) Unwrap() error { return e.Err }

// TxIDBehindError: a row carries a later txid than the batch that writes it: state and progress do
// not belong together.
type TxIDBehindError struct {
	Operator runtime.OperatorID
	Bucket   runtime.Bucket
	Key      string
	Row, Own runtime.TxID
}

func (e *TxIDBehindError) Error() string {
	return fmt.Sprintf("%s[%d] stopped: its batch has txid %d, but the row of key %s was written by txid %d; "+
		"the state table and sr.progress are not of one moment: restore both together, or purge the topology and rebuild",
		e.Operator, e.Bucket, e.Own, e.Key, e.Row)
}
