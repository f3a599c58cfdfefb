package state

import "context"

// Entry is what a lookup found. Found false is a missing row, which is not the same as a row that
// holds a zero or a null; Value is then the zero value.
type Entry[V any] struct {
	Value V
	Found bool
}

// Some is the entry of a row that was found.
func Some[V any](value V) Entry[V] { return Entry[V]{Value: value, Found: true} }

// ValueUpdater computes the new value of a key from the old one; found tells whether there was one.
// It must be a pure function of old and the batch, since it runs again when the batch does, and must
// not change what old points to, since a replay starts from old again.
type ValueUpdater[V any] func(old V, found bool) (V, error)

// MapState is a state of values by key.
type MapState[K comparable, V any] interface {
	State
	// MultiGet returns one entry for each key, in their order; keys may repeat. Inside a commit it
	// returns what an update would start from, outside the newest value.
	MultiGet(ctx context.Context, keys []K) ([]Entry[V], error)
	// MultiUpdate applies updaters[i] to keys[i], in order, and returns the new values; a key that
	// comes twice, here or in the commit, is updated twice. After an error the commit is void and
	// starts again from BeginCommit.
	MultiUpdate(ctx context.Context, keys []K, updaters []ValueUpdater[V]) ([]V, error)
	// MultiPut sets keys[i] to values[i] whatever they held; the last of equal keys wins.
	MultiPut(ctx context.Context, keys []K, values []V) error
}

// Snapshottable is a state of one value: the aggregate of an ungrouped stream.
type Snapshottable[V any] interface {
	State
	Get(ctx context.Context) (Entry[V], error)
	Update(ctx context.Context, updater ValueUpdater[V]) (V, error)
	Set(ctx context.Context, value V) error
}

// BackingMap stores rows by key and knows no rule; R is the row type of the map state above it (V,
// TransactionalValue[V] or OpaqueValue[V]). A backing map that is also a State or Pipelined is told of
// commits by what stands above it.
//
// A store that keeps rows back until the owner's transaction commits must be read through a CachedMap:
// its own MultiGet may answer from before the commits in flight.
type BackingMap[K comparable, R any] interface {
	// MultiGet returns one entry for each key, in their order; keys may repeat.
	MultiGet(ctx context.Context, keys []K) ([]Entry[R], error)
	// MultiPut writes rows[i] under keys[i]; keys are distinct. After an error any of the rows may
	// have been written.
	MultiPut(ctx context.Context, keys []K, rows []R) error
}
