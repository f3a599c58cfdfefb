package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/mutant"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

// commitTimeout bounds one attempt of a commit; after it the outcome is unknown.
const commitTimeout = time.Minute

// requestTimeout bounds one attempt of everything else that is asked of the store or the broker.
const requestTimeout = 15 * time.Second

// commit runs the transaction, again and again while the store cannot be reached at all, which means
// that nothing happened. Every other answer is the caller's.
func (w *worker) commit(ctx context.Context, c protocol.Commit, writes store.Writes) (protocol.Result, error) {
	wait := 20 * time.Millisecond
	for {
		attempt, cancel := context.WithTimeout(ctx, commitTimeout)
		res, err := w.Store.Commit(attempt, c, writes)
		if errors.Is(err, protocol.ErrUnknown) && mutant.On("blindRetryOfUnknownCommit") {
			res, err = w.Store.Commit(attempt, c, writes)
		}
		cancel()
		if !errors.Is(err, store.ErrUnreachable) || ctx.Err() != nil {
			return res, err
		}
		if wait == 20*time.Millisecond {
			w.Log.Warn("the database cannot be reached; the commit waits for it", "error", err)
		}
		if err := sleep(ctx, wait); err != nil {
			return res, err
		}
		wait = min(2*wait, time.Second)
	}
}

// commitOrBury commits; entries that the database refuses become dead letters of the same commit, and
// caches must not keep their rows: buried is called then.
func (w *worker) commitOrBury(ctx context.Context, c protocol.Commit, writes store.Writes, buried func()) (protocol.Result, error) {
	res, err := w.commit(ctx, c, writes)
	var data *store.DataError
	if !errors.As(err, &data) {
		return res, err
	}
	refused, err := w.Store.Refused(ctx, writes)
	if err != nil {
		return res, fmt.Errorf("looking for the entries that were refused (%w): %w", data, err)
	}
	if len(refused) == 0 {
		return w.commit(ctx, c, writes) // it was refused by a state that has changed since
	}
	w.Log.Warn("the database refused entries; they become dead letters", "operator", data.Operator, "entries", len(refused), "first", refused[0].Reason)
	bury(&writes, refused)
	buried()
	return w.commit(ctx, c, writes)
}

// refusedError: the database refuses entries whose new values went into the blocks of the batch, so
// the batch cannot be committed without them (▲ Writing 4): it is built again.
type refusedError struct{ refused []store.Refusal }

func (e *refusedError) Error() string {
	return fmt.Sprintf("the database refused %d entries, the first because: %s", len(e.refused), e.refused[0].Reason)
}

// commitEmitting commits a batch whose rows were handed on.
func (w *worker) commitEmitting(ctx context.Context, c protocol.Commit, writes store.Writes) (protocol.Result, error) {
	res, err := w.commit(ctx, c, writes)
	var data *store.DataError
	if !errors.As(err, &data) {
		return res, err
	}
	refused, err := w.Store.Refused(ctx, writes)
	if err != nil {
		return res, fmt.Errorf("looking for the entries that were refused (%w): %w", data, err)
	}
	if len(refused) == 0 {
		return res, data
	}
	return res, &refusedError{refused}
}

// bury moves refused entries from the writes to the dead letters.
func bury(w *store.Writes, refused []store.Refusal) {
	gone, txids := map[string]bool{}, writtenBy(w)
	for _, r := range refused {
		op := runtime.OperatorID(r.Table.Operator)
		gone[entryName(op, r.Bucket, r.Key)] = true
		in := runtime.Input{Operator: op, Partition: r.Bucket}
		w.DeadLetters = append(w.DeadLetters, store.DeadLetter{
			Operator: op, Input: in, TxID: txids[in], Partition: r.Bucket, Offset: -1, Attempts: 1,
			Error: r.Reason, Key: r.Key, Payload: []byte(exchange.FormatKey(r.Key)),
		})
	}
	folds := w.Folds
	w.Folds = nil
	for _, f := range folds {
		f.Partials = f.Partials.Without(func(key []byte) bool {
			return gone[entryName(runtime.OperatorID(f.Table.Operator), f.Bucket, key)]
		})
		w.Folds = append(w.Folds, f)
	}
	rows := w.Rows
	w.Rows = nil
	for _, r := range rows {
		kept := store.RowWrite{Table: r.Table, Bucket: r.Bucket}
		for i, key := range r.Keys {
			if !gone[entryName(runtime.OperatorID(r.Table.Operator), r.Bucket, key)] {
				kept.Keys, kept.Rows = append(kept.Keys, key), append(kept.Rows, r.Rows[i])
			}
		}
		w.Rows = append(w.Rows, kept)
	}
}

func entryName(op runtime.OperatorID, b runtime.Bucket, key []byte) string {
	return fmt.Sprintf("%s/%d/%s", op, b, key)
}

// writtenBy is, by bucket, the txid of the batch that its writes belong to.
func writtenBy(w *store.Writes) map[runtime.Input]runtime.TxID {
	txids := map[runtime.Input]runtime.TxID{}
	for _, f := range w.Folds {
		txids[runtime.Input{Operator: runtime.OperatorID(f.Table.Operator), Partition: f.Bucket}] = f.TxID
	}
	for _, r := range w.Rows {
		if len(r.Rows) > 0 {
			txids[runtime.Input{Operator: runtime.OperatorID(r.Table.Operator), Partition: r.Bucket}] = r.Rows[0].TxID
		}
	}
	return txids
}

// retry calls f until it works, ctx ends or the error is terminal.
func retry[T any](ctx context.Context, log *slog.Logger, doing string, f func(context.Context) (T, error)) (T, error) {
	wait := 20 * time.Millisecond
	for {
		attempt, cancel := context.WithTimeout(ctx, requestTimeout)
		v, err := f(attempt)
		cancel()
		if err == nil || terminal(err) {
			return v, wrap(doing, err)
		}
		if ctx.Err() != nil {
			return v, nil
		}
		if wait == 20*time.Millisecond {
			log.Warn("trying again", "doing", doing, "error", err)
		}
		if sleep(ctx, wait) != nil {
			return v, nil
		}
		wait = min(2*wait, time.Second)
	}
}

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// emit receives the new row of a key.
type emit func(key []byte, row []any) error

// writeBucket adds to w what the entries of t do to the state of one bucket: a fold in SQL, or rows
// that were read, modified and are to be written.
func writeBucket(ctx context.Context, c bucketCommit, t *exchange.BucketTable, w *store.Writes) error {
	if c.k.Reduce == nil {
		w.Folds = append(w.Folds, store.Fold{Table: c.k.Table, Bucket: c.bucket, TxID: c.txid, Partials: t})
		return nil
	}
	rows, dead, err := modify(ctx, c, t)
	if err != nil {
		return err
	}
	w.Rows = append(w.Rows, rows)
	w.DeadLetters = append(w.DeadLetters, dead...)
	return nil
}
