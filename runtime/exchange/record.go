package exchange

import "fmt"

// CommitRecord puts the tuples added since the last one into the table, or none of them:
// ErrKeyTooLong, ErrNumeric, ErrOverflow, ErrRecordTooLarge tell that the record belongs into the dead
// letters, ErrBatchFull that the batch must be cut first. After an error the table is as before the record.
//
// The merging itself is put off until it pays, and done at the latest when the table is read.
func (t *Table) CommitRecord() error {
	if t.err != nil || t.room.spent {
		return t.commitChecked()
	}
	if len(t.pending.tuples) < windowSize && len(t.pending.bytes) < pendingBytes {
		t.mark = t.pending.end()
		return nil
	}
	if err := t.checkSize(); err != nil {
		t.AbortRecord()
		return err
	}
	t.mark = t.pending.end()
	t.merge()
	return nil
}

// AbortRecord forgets the tuples added since the last CommitRecord.
func (t *Table) AbortRecord() {
	t.pending.truncate(t.mark)
	t.err = nil
}

// commitChecked commits a record that has an error, or that may make a sum overflow.
func (t *Table) commitChecked() error {
	err := t.err
	if err == nil {
		err = t.checkSize()
	}
	if err == nil && t.shape.combine {
		err = t.mergeChecked()
	}
	if err != nil {
		t.AbortRecord()
		return err
	}
	t.mark = t.pending.end()
	t.merge()
	return nil
}

// mergeChecked merges the open record if no sum overflows. The records before it go first.
func (t *Table) mergeChecked() error {
	record := t.pending.tuples[t.mark.tuples:]
	t.pending.mergeAll(t.buckets, t.pending.tuples[:t.mark.tuples], t.pending.words, t.pending.bytes)
	err := t.checked.merge(t.buckets, record, &t.pending)
	t.pending.tuples, t.mark.tuples = t.pending.tuples[:0], 0
	t.measure()
	return err
}

// settle merges what was put off. An open record stays open.
func (t *Table) settle() {
	if t.mark.tuples == 0 {
		return
	}
	done := t.pending.tuples[:t.mark.tuples]
	t.pending.mergeAll(t.buckets, done, t.pending.words, t.pending.bytes)
	open := copy(t.pending.tuples, t.pending.tuples[t.mark.tuples:])
	t.pending.tuples, t.mark.tuples = t.pending.tuples[:open], 0
	t.measure()
}

// merge merges all that is pending; no record is open.
func (t *Table) merge() {
	t.pending.mergeAll(t.buckets, t.pending.tuples, t.pending.words, t.pending.bytes)
	t.unmeasured += t.shape.atMost(&t.pending, mark{})
	t.pending.empty()
	t.mark = mark{}
	if t.unmeasured >= measureAfter {
		t.measure()
	}
}

// measure brings Bytes and Largest up to date.
func (t *Table) measure() {
	t.bytes, t.largest, t.unmeasured = 0, 0, 0
	for _, b := range t.buckets {
		t.bytes += b.bytes
		t.largest = max(t.largest, b.bytes)
	}
}

// checkSize refuses a record that would take a block past BlockMax. Records that put less than
// BlockTarget into all buckets together need no closer look: the callers cut at BlockTarget as
// accounted, which is at most 2.5 times that encoded.
func (t *Table) checkSize() error {
	if t.shape.atMost(&t.pending, t.mark) < BlockTarget {
		return nil
	}
	t.settle()
	record := t.pending.tuples[t.mark.tuples:]
	t.pending.locate(t.buckets, record, t.pending.bytes)
	own := make([]int, len(t.buckets))
	for i := range record {
		own[record[i].bucket] += t.shape.tupleSize(&record[i], t.pending.words)
	}
	for b, size := range own {
		if size > BlockMax-HeaderSize {
			return fmt.Errorf("adding a record with %d bytes for bucket %d: %w", size, b, ErrRecordTooLarge)
		}
		if size+t.buckets[b].worstBytes() > BlockMax-HeaderSize {
			return ErrBatchFull
		}
	}
	return nil
}

// atMost bounds what the tuples behind m can take in blocks.
func (s *Shape) atMost(w *window, m mark) int {
	return (len(w.tuples)-m.tuples)*(2+maxInline+s.worst) + len(w.bytes) - m.bytes
}

// tupleSize is the most that a tuple can take in a block.
func (s *Shape) tupleSize(t *tuple, words []uint64) int {
	size := keySize(t.key.length()) + s.worst
	if s.narrow {
		return size
	}
	entry := words[t.cell:][:s.words]
	for i, kind := range s.layout {
		if kind.variable() {
			size += int(entry[s.firstCell()+i] & (1<<24 - 1))
		}
	}
	return size
}

func (w *window) end() mark { return mark{len(w.tuples), len(w.words), len(w.bytes)} }

func (w *window) truncate(m mark) {
	w.tuples, w.words, w.bytes = w.tuples[:m.tuples], w.words[:m.words], w.bytes[:m.bytes]
}

func (w *window) empty() {
	w.tuples, w.words, w.bytes = emptied(w.tuples), emptied(w.words), emptied(w.bytes)
}
