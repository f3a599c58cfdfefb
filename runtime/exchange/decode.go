package exchange

import "encoding/binary"

// Reader reads the entries of a block's body one by one. It allocates nothing beside itself.
type Reader struct {
	shape *Shape
	body  []byte
	at    int
	left  int
	err   error
	entry Entry
	words [1 + MaxCells]uint64
}

// Read starts reading a body that announces so many entries.
func (s *Shape) Read(body []byte, entries int) Reader {
	return Reader{shape: s, body: body, left: entries}
}

// Next reads the next entry and tells whether there was one. At the end, ask Err.
func (r *Reader) Next() bool {
	if r.left == 0 || r.err != nil {
		if r.err == nil && r.at != len(r.body) {
			r.err = ErrTruncated
		}
		return false
	}
	key, n, next, err := r.shape.parse(r.body, r.at, r.words[:r.shape.words])
	if err != nil {
		r.err = err
		return false
	}
	r.entry.Key = r.body[key : key+n : key+n]
	r.at, r.left = next, r.left-1
	return true
}

// Entry is the entry that Next has read.
func (r *Reader) Entry() *Entry {
	r.entry.shape, r.entry.vars, r.entry.words = r.shape, r.body, r.words[:r.shape.words]
	return &r.entry
}

// Err is ErrTruncated or ErrEntry if reading ended before the end of a sound body.
func (r *Reader) Err() error { return r.err }

// parse decodes the entry at body[at:]: its key is body[key : key+n], the next entry begins at next, its
// cells go into words.
func (s *Shape) parse(body []byte, at int, words []uint64) (key, n, next int, err error) {
	key, n, err = cutKey(body, at)
	if err != nil {
		return 0, 0, 0, err
	}
	at = key + n
	if s.counts && at < len(body) && body[at] < 0x80 {
		words[0] = uint64(unzigzag(uint64(body[at])))
		return key, n, at + 1, nil
	}
	if s.nullable {
		if at, err = s.cutPresence(body, at, words); err != nil {
			return 0, 0, 0, err
		}
	}
	have, first := s.present(words), s.firstCell()
	for i, kind := range s.layout {
		words[first+i] = 0
		if have&(1<<i) == 0 {
			continue
		}
		if words[first+i], at, err = cutCell(kind, body, at); err != nil {
			return 0, 0, 0, err
		}
	}
	return key, n, at, nil
}

// cutKey finds the key of the entry at body[at:].
func cutKey(body []byte, at int) (key, n int, err error) {
	length, at, err := cutUvarint(body, at)
	switch {
	case err != nil:
		return 0, 0, err
	case length > MaxKey:
		return 0, 0, ErrEntry
	case length > uint64(len(body)-at):
		return 0, 0, ErrTruncated
	}
	return at, int(length), nil
}

// cutPresence decodes the presence bits into words[0]. Bits without a cell, and null cells of kinds
// that are not Nullable, are ErrEntry.
func (s *Shape) cutPresence(body []byte, at int, words []uint64) (int, error) {
	size := presenceBytes(len(s.layout))
	if size > len(body)-at {
		return 0, ErrTruncated
	}
	have := uint64(0)
	for i := range size {
		have |= uint64(body[at+i]) << (8 * i)
	}
	if have>>len(s.layout) != 0 {
		return 0, ErrEntry
	}
	for i, kind := range s.layout {
		if kind&Nullable == 0 && have&(1<<i) == 0 {
			return 0, ErrEntry
		}
	}
	words[0] = have
	return at + size, nil
}

// cutCell decodes one cell; a variable one becomes a span of body.
func cutCell(kind CellKind, body []byte, at int) (word uint64, next int, err error) {
	if kind.float() {
		if len(body)-at < 8 {
			return 0, 0, ErrTruncated
		}
		return binary.LittleEndian.Uint64(body[at:]), at + 8, nil
	}
	u, at, err := cutUvarint(body, at)
	if err != nil {
		return 0, 0, err
	}
	if !kind.variable() {
		return uint64(unzigzag(u)), at, nil
	}
	if u > uint64(len(body)-at) {
		return 0, 0, ErrTruncated
	}
	if u > BlockMax || kind.numeric() && !canonicalNumeric(body[at:at+int(u)]) {
		return 0, 0, ErrEntry
	}
	return span(at, int(u)), at + int(u), nil
}

func cutUvarint(body []byte, at int) (u uint64, next int, err error) {
	if at < len(body) && body[at] < 0x80 {
		return uint64(body[at]), at + 1, nil
	}
	u, size := binary.Uvarint(body[at:])
	switch {
	case size == 0:
		return 0, 0, ErrTruncated
	case size < 0:
		return 0, 0, ErrEntry
	}
	return u, at + size, nil
}
