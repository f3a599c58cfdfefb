package state_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/state/statetest"
)

// rowBytes and fewRows make caches so small that every test evicts.
const (
	rowBytes = 100
	fewRows  = 3 * 2 * rowBytes
)

func cached[K comparable, R any](t tb, store state.BackingMap[K, R], maxBytes int64) *state.CachedMap[K, R] {
	t.Helper()
	c, err := state.NewCachedMap(store, state.CacheConfig[K, R]{
		MaxBytes: maxBytes,
		Size:     func(K, R) int { return rowBytes },
	})
	must(t, err)
	return c
}

func TestCachedMapConforms(t *testing.T) {
	cachedConforms[int64](t)
	cachedConforms[string](t)
}

func cachedConforms[K statetest.Key](t *testing.T) {
	statetest.RunBackingMap(t, cachedMemory[K, int64], statetest.Value)
	statetest.RunBackingMap(t, cachedMemory[K, opaque], statetest.Opaque)
	statetest.RunStoredNull(t, cachedMemory[K, *int64])
	statetest.RunTransactionalMap(t, cachedMemory[K, transactional])
	statetest.RunOpaqueMap(t, cachedMemory[K, opaque])
}

func cachedMemory[K statetest.Key, R any](t *testing.T) state.BackingMap[K, R] {
	return cached[K, R](t, &state.Memory[K, R]{}, fewRows)
}

// trident fills its cache before it writes to the store, as Trident's CachedMap does.
type trident struct {
	store *torn[transactional]
	cache state.Memory[string, transactional]
}

func (c *trident) MultiGet(ctx context.Context, keys []string) ([]state.Entry[transactional], error) {
	got, err := c.cache.MultiGet(ctx, keys)
	if err == nil && !got[0].Found {
		return c.store.MultiGet(ctx, keys)
	}
	return got, err
}

func (c *trident) MultiPut(ctx context.Context, keys []string, rows []transactional) error {
	return errors.Join(c.cache.MultiPut(ctx, keys, rows), c.store.MultiPut(ctx, keys, rows))
}

// Batch 2 fails in the store. A cache that already holds its rows takes the replay for done, and the
// update is lost; one that is filled after the commit writes it.
func TestCacheAheadOfTheStoreLosesTheReplay(t *testing.T) {
	run := func(store *torn[transactional], over state.BackingMap[string, transactional]) transactional {
		m := state.NewTransactionalMap(over)
		store.failAfter = -1
		batch(t, m, 1, func(ctx context.Context) { add(t, m, ctx, "a", 1) })
		store.failAfter = 0
		must(t, m.BeginCommit(t.Context(), id(2)))
		add(t, m, t.Context(), "a", 1)
		wantError(t, "commit", m.Commit(t.Context(), id(2)), errStore)
		m.Failed(2)
		batch(t, m, 2, func(ctx context.Context) { add(t, m, ctx, "a", 1) })
		return store.Rows()["a"]
	}
	store := &torn[transactional]{}
	if got, lost := run(store, &trident{store: store}), (transactional{Value: 1, TxID: 1}); got != lost {
		t.Errorf("filled before the write: the store holds %+v; the known fault gives %+v", got, lost)
	}
	store = &torn[transactional]{}
	if got, want := run(store, cached(t, store, fewRows)), (transactional{Value: 2, TxID: 2}); got != want {
		t.Errorf("filled after the commit: the store holds %+v, want %+v", got, want)
	}
}

func TestOverlayIsSeenAtOnceAndCachedWhenCommitted(t *testing.T) {
	c := cached(t, &staged[int64]{}, 1<<20)
	write := func(txid int, key string, value int64) {
		must(t, c.BeginCommit(t.Context(), id(txid)))
		must(t, c.MultiPut(t.Context(), []string{key}, []int64{value}))
		must(t, c.Commit(t.Context(), id(txid)))
	}
	write(1, "a", 10)
	write(2, "a", 20)
	write(3, "b", 30)
	wantRow(t, c, "a", state.Some(int64(20)))
	if s := c.Stats(); s.Rows != 0 || s.Pending != 3 {
		t.Errorf("before any outcome: %+v, want nothing cached and 3 rows pending", s)
	}
	c.Committed(1)
	if s := c.Stats(); s.Rows != 1 || s.Pending != 2 {
		t.Errorf("batch 1 committed: %+v, want its row cached and 2 pending", s)
	}
	c.Failed(2) // and so 3
	wantRow(t, c, "a", state.Some(int64(10)))
	wantRow(t, c, "b", state.Entry[int64]{})
	write(2, "a", 21)
	c.Committed(2)
	misses := c.Stats().Misses
	wantRow(t, c, "a", state.Some(int64(21)))
	if c.Stats().Misses != misses {
		t.Error("a committed row was read from the store again")
	}
	c.Drop()
	if s := c.Stats(); s.Rows != 0 || s.Bytes != 0 || s.Pending != 0 {
		t.Errorf("after Drop: %+v, want nothing", s)
	}
}

func TestMissesAreNotCached(t *testing.T) {
	store := &state.Memory[string, int64]{}
	c := cached(t, store, fewRows)
	wantRow(t, c, "a", state.Entry[int64]{})
	must(t, store.MultiPut(t.Context(), []string{"a"}, []int64{1}))
	wantRow(t, c, "a", state.Some(int64(1)))
}

func TestAfterAFailureTheCacheAnswersAsTheStoreDoes(t *testing.T) {
	for name, failAfter := range map[string]int{"torn put": 1, "failed elsewhere": -1} {
		t.Run(name, func(t *testing.T) {
			store := &torn[int64]{failAfter: -1}
			c := cached(t, store, 1<<20)
			keys := []string{"a", "b"}
			batch(t, c, 1, func(ctx context.Context) { must(t, c.MultiPut(ctx, keys, []int64{1, 1})) })
			must(t, c.BeginCommit(t.Context(), id(2)))
			store.failAfter = failAfter
			_ = c.MultiPut(t.Context(), keys, []int64{2, 2})
			c.Failed(2)
			for key, row := range store.Rows() {
				wantRow(t, c, key, state.Some(row))
			}
		})
	}
}

// Batch 2 stands upon values of batch 1 that will not come to be.
func TestFailureVoidsTheOpenCommitBehindIt(t *testing.T) {
	for name, fail := range map[string]func(state.Pipelined){
		"failed":  func(s state.Pipelined) { s.Failed(1) },
		"dropped": func(s state.Pipelined) { s.Drop() },
	} {
		t.Run("map, "+name, func(t *testing.T) {
			m := state.NewTransactionalMap(&state.Memory[string, transactional]{})
			must(t, m.BeginCommit(t.Context(), id(2)))
			add(t, m, t.Context(), "a", 1)
			fail(m)
			wantError(t, "commit of batch 2", m.Commit(t.Context(), id(2)), state.ErrNoCommit)
			wantStored(t, m, map[string]int64{})
		})
		t.Run("cache, "+name, func(t *testing.T) {
			c := cached(t, &state.Memory[string, int64]{}, fewRows)
			must(t, c.BeginCommit(t.Context(), id(2)))
			fail(c)
			wantError(t, "put of batch 2", c.MultiPut(t.Context(), []string{"a"}, []int64{1}), state.ErrNoCommit)
			wantError(t, "commit of batch 2", c.Commit(t.Context(), id(2)), state.ErrNoCommit)
		})
	}
}

func TestLateOutcomeLeavesTheOpenCommitAlone(t *testing.T) {
	c := cached(t, &state.Memory[string, int64]{}, fewRows)
	must(t, c.BeginCommit(t.Context(), id(1)))
	c.Committed(1)
	must(t, c.MultiPut(t.Context(), []string{"a"}, []int64{1}))
	if s := c.Stats(); s.Rows != 0 || s.Pending != 1 {
		t.Errorf("%+v, want the row pending until the commit has ended", s)
	}
}

func TestWritesWithoutTxIDAreNotCached(t *testing.T) {
	c := cached(t, &state.Memory[string, int64]{}, fewRows)
	put := func(txid *runtime.TxID, value int64) {
		must(t, c.BeginCommit(t.Context(), txid))
		must(t, c.MultiPut(t.Context(), []string{"a"}, []int64{value}))
		must(t, c.Commit(t.Context(), txid))
	}
	put(nil, 1)
	wantRow(t, c, "a", state.Some(int64(1)))
	put(nil, 2)
	wantRow(t, c, "a", state.Some(int64(2)))
	put(id(1), 3)
	wantError(t, "write without txid over a batch in flight", c.BeginCommit(t.Context(), nil), state.ErrInFlight)
	c.Committed(1)
	put(nil, 4)
	wantRow(t, c, "a", state.Some(int64(4)))
}

func TestCacheIsBoundedInBytesAndKeepsWhatWasUsedLast(t *testing.T) {
	store := &state.Memory[string, string]{}
	c, err := state.NewCachedMap(store, state.CacheConfig[string, string]{
		MaxBytes: 1000,
		Size:     func(k, r string) int { return len(k) + len(r) },
	})
	must(t, err)
	batch(t, c, 1, func(ctx context.Context) {
		for i := range 50 {
			must(t, c.MultiPut(ctx, []string{fmt.Sprint(i)}, []string{"row"}))
		}
	})
	if s := c.Stats(); s.Bytes > 1000 || s.Rows == 0 || s.Rows > 10 {
		t.Fatalf("%+v, want some rows within 1000 bytes", s)
	}
	rows := int(c.Stats().Rows)
	oldest := fmt.Sprint(50 - rows)
	hit(t, c, oldest, true) // now it is the newest
	hit(t, c, "0", false)   // takes a place
	hit(t, c, oldest, true)
	hit(t, c, fmt.Sprint(50-rows+1), false)

	batch(t, c, 2, func(ctx context.Context) {
		must(t, c.MultiPut(ctx, []string{"big"}, []string{string(make([]byte, 2000))}))
	})
	if s := c.Stats(); s.Bytes > 1000 {
		t.Errorf("a row beyond the bound: %+v", s)
	}
	hit(t, c, "big", false)
}

func TestCacheConfigIsChecked(t *testing.T) {
	size := func(string, int64) int { return 1 }
	for _, config := range []state.CacheConfig[string, int64]{{}, {MaxBytes: -1, Size: size}} {
		if _, err := state.NewCachedMap(&state.Memory[string, int64]{}, config); err == nil {
			t.Errorf("%+v was accepted", config)
		}
	}
}

// A CachedMap and its uncached twin answer alike, whatever becomes of the batches and whoever else
// writes between two ownerships.
func TestCachedMapAgreesWithItsUncachedTwin(t *testing.T) {
	keys := []string{"a", "b", "c", "d", "e", "f"}
	rapid.Check(t, func(t *rapid.T) {
		store := &staged[int64]{rows: map[string]int64{}}
		c := cached(t, store, rapid.SampledFrom([]int64{1, fewRows, 1 << 20}).Draw(t, "bytes"))
		ctx, last := t.Context(), runtime.TxID(0)
		inFlight := func() runtime.TxID {
			return store.batches[rapid.IntRange(0, len(store.batches)-1).Draw(t, "which")].txid
		}
		t.Repeat(map[string]func(*rapid.T){
			"batch": func(t *rapid.T) {
				last++
				must(t, c.BeginCommit(ctx, &last))
				some := rapid.SliceOfDistinct(rapid.SampledFrom(keys), rapid.ID).Draw(t, "keys")
				rows := rapid.SliceOfN(rapid.Int64(), len(some), len(some)).Draw(t, "rows")
				store.fail = rapid.IntRange(0, 9).Draw(t, "fails") == 0
				if c.MultiPut(ctx, some, rows) != nil {
					c.Failed(last)
					last--
					return
				}
				store.fail = false
				must(t, c.Commit(ctx, &last))
			},
			"committed": func(t *rapid.T) {
				if len(store.batches) > 0 {
					c.Committed(store.batches[0].txid)
				}
			},
			"failed": func(t *rapid.T) {
				if len(store.batches) > 0 {
					txid := inFlight()
					c.Failed(txid)
					last = txid - 1
				}
			},
			"begun again": func(t *rapid.T) {
				if len(store.batches) > 0 {
					last = inFlight()
					must(t, c.BeginCommit(ctx, &last))
					must(t, c.Commit(ctx, &last))
				}
			},
			"taken over and back": func(t *rapid.T) {
				store.rows[rapid.SampledFrom(keys).Draw(t, "key")] = rapid.Int64().Draw(t, "row")
				c.Drop()
			},
			"": func(t *rapid.T) {
				some := rapid.SliceOf(rapid.SampledFrom(keys)).Draw(t, "read")
				got, err := c.MultiGet(ctx, some)
				must(t, err)
				for i, key := range some {
					if got[i] != store.view(key) {
						t.Fatalf("%q is %+v, the twin has %+v", key, got[i], store.view(key))
					}
				}
			},
		})
	})
}

func wantRow[R comparable](t *testing.T, c *state.CachedMap[string, R], key string, want state.Entry[R]) {
	t.Helper()
	got, err := c.MultiGet(t.Context(), []string{key})
	must(t, err)
	if got[0] != want {
		t.Errorf("%q is %+v, want %+v", key, got[0], want)
	}
}

func hit(t *testing.T, c *state.CachedMap[string, string], key string, want bool) {
	t.Helper()
	before := c.Stats().Hits
	_, err := c.MultiGet(t.Context(), []string{key})
	must(t, err)
	if got := c.Stats().Hits > before; got != want {
		t.Errorf("reading %q: served from the cache is %v, want %v", key, got, want)
	}
}
