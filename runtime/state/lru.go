package state

// entryOverhead is what an entry costs beside its key and row, in bytes: its links, its size and its
// place in the map, rounded up.
const entryOverhead = 96

// lru keeps the rows used last, within a bound in bytes.
type lru[K comparable, R any] struct {
	max, bytes int64
	size       func(K, R) int
	entries    map[K]*lruEntry[K, R]
	ring       lruEntry[K, R] // ring.next was used last, ring.prev longest ago
}

type lruEntry[K comparable, R any] struct {
	key        K
	row        R
	bytes      int64
	prev, next *lruEntry[K, R]
}

func newLRU[K comparable, R any](max int64, size func(K, R) int) *lru[K, R] {
	l := &lru[K, R]{max: max, size: size}
	l.reset()
	return l
}

func (l *lru[K, R]) reset() {
	l.bytes = 0
	l.entries = make(map[K]*lruEntry[K, R])
	l.ring.prev, l.ring.next = &l.ring, &l.ring
}

func (l *lru[K, R]) get(key K) (row R, found bool) {
	e, found := l.entries[key]
	if !found {
		return row, false
	}
	e.unlink()
	l.first(e)
	return e.row, true
}

// put keeps a row, and lets go of those used longest ago until the bound holds: of this one too, if it
// alone is beyond it.
func (l *lru[K, R]) put(key K, row R) {
	e, found := l.entries[key]
	if found {
		e.unlink()
		l.bytes -= e.bytes
	} else {
		e = &lruEntry[K, R]{key: key}
		l.entries[key] = e
	}
	e.row, e.bytes = row, int64(max(l.size(key, row), 0)+entryOverhead)
	l.bytes += e.bytes
	l.first(e)
	for l.bytes > l.max {
		l.remove(l.ring.prev.key)
	}
}

func (l *lru[K, R]) remove(key K) {
	if e, found := l.entries[key]; found {
		e.unlink()
		l.bytes -= e.bytes
		delete(l.entries, key)
	}
}

func (l *lru[K, R]) first(e *lruEntry[K, R]) {
	e.prev, e.next = &l.ring, l.ring.next
	e.prev.next, e.next.prev = e, e
}

func (e *lruEntry[K, R]) unlink() {
	e.prev.next, e.next.prev = e.next, e.prev
}
