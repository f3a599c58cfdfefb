package state

import (
	"context"

	"github.com/selfregulating/sr/runtime"
)

// State is anything that a stream may read and update. Updates happen between BeginCommit and Commit
// of one batch; batches come in the order of their txids, and a batch that failed comes again under
// the same txid. How a state makes use of the txid is its own affair.
type State interface {
	// BeginCommit opens the commit of batch txid, or a new attempt at it: what an attempt before
	// left unfinished is forgotten. txid is nil off a stream that has none.
	BeginCommit(ctx context.Context, txid *runtime.TxID) error
	// Commit hands over everything that was updated since BeginCommit of the same txid. A store
	// that writes in the transaction of the batch is durable when the owner says Committed; any
	// other, and every commit without a txid, is durable when Commit returns.
	Commit(ctx context.Context, txid *runtime.TxID) error
}

// Pipelined is what a state or backing map implements to learn what became of a commit that was
// handed over. It is how batch t+1 can be processed while t commits.
type Pipelined interface {
	// Committed says that txid, and so every batch before it, is durable.
	Committed(txid runtime.TxID)
	// Failed says that txid changed nothing: it and every later batch must be processed again. A
	// commit whose outcome is unknown has not failed; raise the epoch and call Drop.
	Failed(txid runtime.TxID)
	// Drop forgets all that is remembered about the store: after a takeover, a change of epoch, or
	// an unknown outcome.
	Drop()
}

// Config tells a Factory for whom it makes a state.
type Config struct {
	// Topology and Operator name the owner of the state's rows.
	Topology runtime.TopologyID
	Operator runtime.OperatorID
	// Options are the user's settings for this state, as written in the topology.
	Options map[string]string
}

// Factory makes the state of one partition (from 0) out of the given number of them.
type Factory[S State] func(config Config, partition, of int) (S, error)

// Updater writes a batch's tuples to a state, inside its commit. What it emits is the stream of new
// values.
type Updater[S State, T, O any] interface {
	Update(ctx context.Context, state S, tuples []T, emit func(O)) error
}

// Query looks tuples up in a state, all of a batch at once, and then turns each result into output.
type Query[S State, T, R, O any] interface {
	// BatchRetrieve returns one result for each input, in their order.
	BatchRetrieve(ctx context.Context, state S, inputs []T) ([]R, error)
	// Execute emits any number of outputs for one input and its result.
	Execute(input T, result R, emit func(O)) error
}

// Ask runs a query over a batch of inputs. A BatchRetrieve that returns another number of results than
// it got inputs is a *CountError, and nothing is emitted.
func Ask[S State, T, R, O any](ctx context.Context, q Query[S, T, R, O], state S, inputs []T, emit func(O)) error {
	results, err := q.BatchRetrieve(ctx, state, inputs)
	if err != nil {
		return err
	}
	if err := sameCount("results of BatchRetrieve", len(inputs), len(results)); err != nil {
		return err
	}
	for i, input := range inputs {
		if err := q.Execute(input, results[i], emit); err != nil {
			return err
		}
	}
	return nil
}
