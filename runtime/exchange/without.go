package exchange

import "errors"

// Without copies the table, leaving out the entries whose key drop names.
func (b *BucketTable) Without(drop func(key []byte) bool) *BucketTable {
	var body []byte
	kept := 0
	for e := range b.All() {
		if drop(e.Key) {
			continue
		}
		body = b.shape.appendEntry(body, e.Key, e.words, e.vars)
		kept++
	}
	copied := NewBucketTable(b.shape)
	var m Merger
	if err := m.MergeBlock(copied, Header{Entries: kept, Tuples: b.tuples}, body); err != nil {
		panic("exchange: entries of a table do not fit into another: " + err.Error())
	}
	return copied
}

// MergeEach merges a block entry by entry, for when MergeBlock answers ErrOverflow: the entries that
// do not fit are given to refused instead.
func (m *Merger) MergeEach(dst *BucketTable, h Header, body []byte, refused func(e *Entry)) error {
	r := dst.shape.Read(body, h.Entries)
	var one []byte
	for r.Next() {
		e := r.Entry()
		one = dst.shape.appendEntry(one[:0], e.Key, e.words, e.vars)
		switch err := m.MergeBlock(dst, Header{Entries: 1, Tuples: 1}, one); {
		case errors.Is(err, ErrOverflow):
			refused(e)
		case err != nil:
			return err
		}
	}
	return r.Err()
}
