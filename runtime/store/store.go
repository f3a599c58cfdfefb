// Package store is what sr needs of the database that decides: the protocol's rows, the user's
// state and dead letters, moved together in one transaction. connectors/postgres implements it on
// Postgres and connectors/memory in memory; both pass the suite in storetest.
package store

import (
	"context"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
)

// Store is the database of one topology incarnation. Its methods are safe for concurrent use; each
// is one transaction. Errors are those of package protocol (ErrLost, ErrUnknown, ErrFenced), the
// types of this package, or the environment's (ErrUnreachable, ErrNoPermission, ErrFull).
type Store interface {
	Containers
	Writers
	Inputs
	// Commit runs the one transaction of a batch: every assertion inside it, then the writes.
	// Nothing has happened if it answers ErrLost or a *DataError; anything may if ErrUnknown.
	// Deadlocks and serialization failures are retried inside, with the identical batch.
	Commit(ctx context.Context, c protocol.Commit, w Writes) (protocol.Result, error)
	// Refused tries w's folds and row writes in transactions that are rolled back, bisecting down to
	// single entries, and lists those that the database refuses (overflow, bad text). It is called
	// after Commit answered a *DataError, so that the rest of the batch can go on.
	Refused(ctx context.Context, w Writes) ([]Refusal, error)
	// ReadRows reads state rows of one bucket for read-modify-write, in the order of keys (encoded).
	ReadRows(ctx context.Context, t *state.Table, bucket runtime.Bucket, keys [][]byte) ([]Row, error)
	Close()
}

// Containers are the leases. Times are the server's, never the container's.
type Containers interface {
	// Register starts a container incarnation with a lease.
	Register(ctx context.Context, c Container, lease time.Duration) error
	// Heartbeat renews the lease and closes every open writer of the incarnation that is not in inUse
	// (Writing 6). It answers ErrFenced if another has fenced it.
	Heartbeat(ctx context.Context, c runtime.Incarnation, lease time.Duration, inUse []runtime.WriterID) error
	// Holders lists the unfenced containers other than c.
	Holders(ctx context.Context, c runtime.Incarnation) ([]Holder, error)
	// Fence ends a container and gives all that it owned to another (zero: to nobody). While it waits for
	// the locks of a frozen process, a second connection ends that process's sessions.
	Fence(ctx context.Context, c, to runtime.Incarnation) error
	// Unregister ends a container that has nothing in flight: its inputs become free, its writers closed.
	Unregister(ctx context.Context, c runtime.Incarnation) error
}

// Container names one life of a container.
type Container struct {
	// Name is for people: host and process.
	Name        string
	Incarnation runtime.Incarnation
}

// Holder is a container that holds a lease, or did.
type Holder struct {
	Container
	// Renewed counts heartbeats; LeaseLeft is what remains by the server's clock, negative once expired.
	Renewed   int64
	LeaseLeft time.Duration
}

// Writers are the commit points of blocks.
type Writers interface {
	OpenWriter(ctx context.Context, c runtime.Incarnation, stage string, id runtime.WriterID) error
	CloseWriter(ctx context.Context, id runtime.WriterID) error
	// View reads one snapshot of the writers named; those absent from it do not exist.
	View(ctx context.Context, ids []runtime.WriterID) (protocol.View, error)
	// Unlisted returns closed writers of a stage that have no close offsets yet.
	Unlisted(ctx context.Context, stage string) ([]runtime.WriterID, error)
	// ListClose stores the end offsets of every out-bucket, listed by a request that began after
	// Unlisted returned the writers.
	ListClose(ctx context.Context, ids []runtime.WriterID, offsets []protocol.CloseOffset) error
	// DeleteWriters deletes the rows that no bucket needs any more, older than margin, and says how many.
	DeleteWriters(ctx context.Context, margin time.Duration) (int, error)
}

// Inputs are the progress rows.
type Inputs interface {
	// AddInputs inserts rows for inputs that have none, owned by nobody.
	AddInputs(ctx context.Context, rows []protocol.Progress) error
	// Assign gives inputs to a living container whose owner is nobody, fenced or unknown.
	Assign(ctx context.Context, c runtime.Incarnation, operator runtime.OperatorID) error
	// Load reads the rows of an operator, all of them, ordered by partition.
	Load(ctx context.Context, operator runtime.OperatorID) ([]protocol.Progress, error)
	// RaiseEpochs fences the container's own late commits (Writing 5).
	RaiseEpochs(ctx context.Context, c runtime.Incarnation, ins []runtime.Input) error
	// Describe inserts descriptors before the blocks of their batch; owner and epochs are asserted.
	Describe(ctx context.Context, c runtime.Incarnation, epochs []runtime.Epoch, ds []protocol.Descriptor) error
	// Descriptors reads the open descriptors of an operator, ordered by input and txid.
	Descriptors(ctx context.Context, operator runtime.OperatorID) ([]protocol.Descriptor, error)
}

// Writes are what a batch does beside moving progress.
type Writes struct {
	Folds       []Fold
	Rows        []RowWrite
	DeadLetters []DeadLetter
}

// Fold merges partial aggregates into the rows of one bucket, in SQL.
type Fold struct {
	Table  *state.Table
	Bucket runtime.Bucket
	TxID   runtime.TxID
	// Partials are the entries, keyed by encoded key, cells laid out as the table's aggregates.
	Partials *exchange.BucketTable
}

// Row is a state row as stored: Value holds one Go value per aggregate column (int64, float64,
// string for numeric, text and jsonb, nil for null).
type Row struct {
	Found     bool
	Value     []any
	Prev      []any // opaque tables; nil if there was no row before TxID
	PrevFound bool
	TxID      runtime.TxID
}

// RowWrite sets state rows of one bucket.
type RowWrite struct {
	Table  *state.Table
	Bucket runtime.Bucket
	Keys   [][]byte
	Rows   []Row
}

// Refusal names an entry that the database refuses.
type Refusal struct {
	Table  *state.Table
	Bucket runtime.Bucket
	// Key is encoded.
	Key []byte
	// Reason is the database's, with its SQLSTATE.
	Reason string
}

// DeadLetter is a record, or an entry of a fold, that could not be processed.
type DeadLetter struct {
	// Operator that failed; Input and TxID of the batch whose commit writes it.
	Operator runtime.OperatorID
	Input    runtime.Input
	TxID     runtime.TxID
	// Topic, Partition and Offset of the record; -1 where an entry has none.
	Topic     string
	Partition int32
	Offset    runtime.Offset
	Attempts  int
	Error     string
	// Key and Payload are the record's; for an entry of a fold its encoded key and its partials as text.
	Key, Payload []byte
	Timestamp    int64
}
