package state_test

import (
	"context"
	"errors"
	"maps"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/state"
)

var errStore = errors.New("the store is away")

// torn is a store without transactions: rows are durable one by one, and a put may fail half way.
type torn[R any] struct {
	state.Memory[string, R]
	// failAfter is how many rows the next put writes before it fails; negative for none to fail.
	failAfter int
}

func (s *torn[R]) MultiPut(ctx context.Context, keys []string, rows []R) error {
	if s.failAfter < 0 || s.failAfter > len(keys) {
		return s.Memory.MultiPut(ctx, keys, rows)
	}
	n := s.failAfter
	s.failAfter = -1
	return errors.Join(errStore, s.Memory.MultiPut(ctx, keys[:n], rows[:n]))
}

// staged is a store that commits batches as a whole, later, as Postgres does: rows of a batch are
// seen when its owner says that it is committed, and vanish when it failed.
type staged[R any] struct {
	rows    map[string]R
	batches []stage[R] // in flight, by txid
	fail    bool       // the next put fails
}

type stage[R any] struct {
	txid runtime.TxID
	rows map[string]R
}

func (s *staged[R]) BeginCommit(_ context.Context, txid *runtime.TxID) error {
	s.Failed(*txid)
	s.batches = append(s.batches, stage[R]{*txid, map[string]R{}})
	return nil
}

func (s *staged[R]) Commit(context.Context, *runtime.TxID) error { return nil }

func (s *staged[R]) Committed(txid runtime.TxID) {
	for len(s.batches) > 0 && s.batches[0].txid <= txid {
		if s.rows == nil {
			s.rows = map[string]R{}
		}
		maps.Copy(s.rows, s.batches[0].rows)
		s.batches = s.batches[1:]
	}
}

func (s *staged[R]) Failed(txid runtime.TxID) {
	for n := len(s.batches); n > 0 && s.batches[n-1].txid >= txid; n-- {
		s.batches = s.batches[:n-1]
	}
}

func (s *staged[R]) Drop() { s.batches = nil }

func (s *staged[R]) MultiGet(_ context.Context, keys []string) ([]state.Entry[R], error) {
	got := make([]state.Entry[R], len(keys))
	for i, key := range keys {
		got[i].Value, got[i].Found = s.rows[key]
	}
	return got, nil
}

func (s *staged[R]) MultiPut(_ context.Context, keys []string, rows []R) error {
	if s.fail {
		s.fail = false
		return errStore
	}
	for i, key := range keys {
		s.batches[len(s.batches)-1].rows[key] = rows[i]
	}
	return nil
}

// view is what the owner must see: the batches in flight over the committed rows. It is the uncached
// twin of a CachedMap.
func (s *staged[R]) view(key string) state.Entry[R] {
	for i := len(s.batches) - 1; i >= 0; i-- {
		if row, found := s.batches[i].rows[key]; found {
			return state.Some(row)
		}
	}
	row, found := s.rows[key]
	return state.Entry[R]{Value: row, Found: found}
}

func id(n int) *runtime.TxID {
	txid := runtime.TxID(n)
	return &txid
}

// tb is what the helpers need of a test, be it Go's or rapid's.
type tb interface {
	Helper()
	Context() context.Context
	Errorf(string, ...any)
	Fatal(...any)
}
