package state

import (
	"context"
	"errors"
	"slices"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/mutant"
)

// CacheConfig bounds a CachedMap.
type CacheConfig[K comparable, R any] struct {
	// MaxBytes bounds the cached rows, with their bookkeeping; 0 means 16 MiB. Rows of batches in
	// flight come on top: they are bounded by the batches.
	MaxBytes int64
	// Size is the memory of a key and its row in bytes, what they point to included. Required.
	Size func(key K, row R) int
}

func (c CacheConfig[K, R]) validate() error {
	if c.MaxBytes < 0 {
		return errors.New("the MaxBytes of a cache must not be negative; 0 means 16 MiB")
	}
	if c.Size == nil {
		return errors.New("a cache needs Size, the bytes of a key and its row, to keep within MaxBytes")
	}
	return nil
}

// CacheStats is what a cache holds and how well it serves.
type CacheStats struct {
	// Hits and Misses count the keys looked up, since the cache was made.
	Hits, Misses int64
	// Rows and Bytes are what the cache holds; Pending counts the rows of batches in flight.
	Rows, Bytes, Pending int64
}

// CachedMap is a BackingMap that remembers the rows of the one below it. Rows written in a commit
// are seen by later reads at once, from an overlay of their batch, but enter the cache only when the
// owner says Committed; Failed drops the overlay of its batch and all later ones. So the cache is
// never ahead of the store, and batch t+1 can be processed while t commits.
//
// It stands for one owner of one bucket, who alone writes those rows; on losing or gaining the
// ownership, Drop. Rows that are not there are not remembered.
type CachedMap[K comparable, R any] struct {
	backing      BackingMap[K, R]
	below        lifecycle
	cache        *lru[K, R]
	pending      []overlay[K, R] // by txid; the last is that of the open commit, if it has a txid
	open         bool
	txid         runtime.TxID // of the open commit; 0 without one
	hits, misses int64
}

type overlay[K comparable, R any] struct {
	txid runtime.TxID
	writes[K, R]
}

// NewCachedMap makes an empty cache over backing.
func NewCachedMap[K comparable, R any](backing BackingMap[K, R], config CacheConfig[K, R]) (*CachedMap[K, R], error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.MaxBytes == 0 {
		config.MaxBytes = 16 << 20
	}
	return &CachedMap[K, R]{
		backing: backing,
		below:   lifecycleOf(backing),
		cache:   newLRU(config.MaxBytes, config.Size),
	}, nil
}

// BeginCommit opens the overlay of batch txid; see State. An overlay that an earlier attempt left is
// dropped, and those of later batches with it.
func (c *CachedMap[K, R]) BeginCommit(ctx context.Context, txid *runtime.TxID) error {
	c.open, c.txid = false, 0
	t := orZero(txid)
	if t != 0 {
		c.drop(t)
	} else if len(c.pending) > 0 {
		return ErrInFlight
	}
	if err := c.below.BeginCommit(ctx, txid); err != nil {
		return err
	}
	if t != 0 {
		c.pending = append(c.pending, overlay[K, R]{txid: t})
	}
	c.open, c.txid = true, t
	return nil
}

// MultiGet looks keys up, in the batches in flight, in the cache, and in the backing map; see
// BackingMap.
func (c *CachedMap[K, R]) MultiGet(ctx context.Context, keys []K) ([]Entry[R], error) {
	rows := make([]Entry[R], len(keys))
	var ask []K
	var at []int
	for i, key := range keys {
		if rows[i] = c.find(key); !rows[i].Found {
			ask, at = append(ask, key), append(at, i)
		}
	}
	c.hits += int64(len(keys) - len(ask))
	c.misses += int64(len(ask))
	if len(ask) == 0 {
		return rows, nil
	}
	got, err := c.backing.MultiGet(ctx, ask)
	if err != nil {
		return nil, err
	}
	if err := sameCount("rows of MultiGet", len(ask), len(got)); err != nil {
		return nil, err
	}
	for i, row := range got {
		rows[at[i]] = row
		if row.Found {
			c.cache.put(ask[i], row.Value)
		}
	}
	return rows, nil
}

// MultiPut writes rows to the backing map and, once that is done, to the overlay of the open commit;
// see BackingMap.
func (c *CachedMap[K, R]) MultiPut(ctx context.Context, keys []K, rows []R) error {
	if err := sameCount("rows", len(keys), len(rows)); err != nil {
		return err
	}
	if !c.open {
		return ErrNoCommit
	}
	if mutant.On("cacheFilledBeforeCommit") { // as Trident does
		for i, key := range keys {
			c.cache.put(key, rows[i])
		}
		return c.backing.MultiPut(ctx, keys, rows)
	}
	err := c.backing.MultiPut(ctx, keys, rows)
	if err != nil || c.txid == 0 {
		// Unknown what the store holds, or no word will come that it is durable: ask again.
		c.forget(keys)
		return err
	}
	// Not the cache: it would be ahead of the store if the commit failed, and a transactional
	// replay would take the row for written (invariant 1).
	current := &c.pending[len(c.pending)-1]
	for i, key := range keys {
		current.put(key, rows[i])
	}
	return nil
}

// Commit ends the writes of batch txid, whose outcome is now awaited; see State.
func (c *CachedMap[K, R]) Commit(ctx context.Context, txid *runtime.TxID) error {
	if !c.open || c.txid != orZero(txid) {
		return ErrNoCommit
	}
	c.open, c.txid = false, 0
	return c.below.Commit(ctx, txid)
}

// Committed moves the overlays up to txid into the cache, but not that of a commit still open; see
// Pipelined.
func (c *CachedMap[K, R]) Committed(txid runtime.TxID) {
	c.below.Committed(txid)
	n := c.from(txid + 1)
	if c.txid != 0 {
		n = min(n, c.from(c.txid))
	}
	for _, o := range c.pending[:n] {
		for i, key := range o.keys {
			c.cache.put(key, o.rows[i])
		}
	}
	c.pending = slices.Delete(c.pending, 0, n)
}

// Failed drops the overlays from txid on; see Pipelined.
func (c *CachedMap[K, R]) Failed(txid runtime.TxID) {
	if c.txid >= txid {
		c.open, c.txid = false, 0
	}
	c.drop(txid)
	c.below.Failed(txid)
}

// Drop empties the cache and all overlays; see Pipelined.
func (c *CachedMap[K, R]) Drop() {
	c.open, c.txid, c.pending = false, 0, nil
	c.cache.reset()
	c.below.Drop()
}

// Stats counts what the cache holds and served.
func (c *CachedMap[K, R]) Stats() CacheStats {
	s := CacheStats{Hits: c.hits, Misses: c.misses, Rows: int64(len(c.cache.entries)), Bytes: c.cache.bytes}
	for _, o := range c.pending {
		s.Pending += int64(len(o.keys))
	}
	return s
}

func (c *CachedMap[K, R]) find(key K) Entry[R] {
	for i := len(c.pending) - 1; i >= 0; i-- {
		if row, found := c.pending[i].get(key); found {
			return Some(row)
		}
	}
	row, found := c.cache.get(key)
	return Entry[R]{Value: row, Found: found}
}

// drop lets go of the overlays from txid on, and of the cached rows under them: a store without
// transactions may have kept what the failed attempt wrote.
func (c *CachedMap[K, R]) drop(txid runtime.TxID) {
	n := c.from(txid)
	for _, o := range c.pending[n:] {
		c.forget(o.keys)
	}
	c.pending = slices.Delete(c.pending, n, len(c.pending))
}

// from is the index of the first overlay of txid or later.
func (c *CachedMap[K, R]) from(txid runtime.TxID) int {
	n, _ := slices.BinarySearchFunc(c.pending, txid, func(o overlay[K, R], t runtime.TxID) int { return int(o.txid - t) })
	return n
}

func (c *CachedMap[K, R]) forget(keys []K) {
	for _, key := range keys {
		c.cache.remove(key)
	}
}
