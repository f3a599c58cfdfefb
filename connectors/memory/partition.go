package memory

import (
	"bytes"
	"slices"
	"sort"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
)

// partition is one log. It is guarded by its broker's mu.
type partition struct {
	start, end runtime.Offset
	entries    []entry // by offset, with gaps where markers are and where records were removed
}

type entry struct {
	record broker.Record
	txn    *Txn // nil outside a transaction
}

// open tells whether the outcome of the entry is not known yet.
func (e entry) open() bool { return e.txn != nil && !e.txn.ended }

// hidden tells whether a reader of committed records never sees the entry.
func (e entry) hidden() bool { return e.txn != nil && e.txn.ended && !e.txn.commits }

func (p *partition) append(r broker.Record, txn *Txn) {
	r.Offset = p.end
	r.Key, r.Value, r.Headers = bytes.Clone(r.Key), bytes.Clone(r.Value), slices.Clone(r.Headers)
	if r.Timestamp == 0 {
		r.Timestamp = time.Now().UnixMilli()
	}
	p.entries = append(p.entries, entry{r, txn})
	p.end++
}

func (p *partition) offsets() broker.Offsets {
	stable := p.end
	if i := slices.IndexFunc(p.entries, entry.open); i >= 0 {
		stable = p.entries[i].record.Offset
	}
	return broker.Offsets{Start: p.start, Stable: stable, End: p.end}
}

func (p *partition) since(milli int64) runtime.Offset {
	i := slices.IndexFunc(p.entries, func(e entry) bool { return e.record.Timestamp >= milli })
	if i < 0 {
		return p.end
	}
	return p.entries[i].record.Offset
}

func (p *partition) trim(below runtime.Offset) {
	if below > p.end {
		return // Kafka refuses it
	}
	p.start = max(p.start, below)
	p.entries = slices.Clone(p.entries[p.index(p.start):])
}

func (p *partition) compact(keep func(broker.Record) bool) {
	p.entries = slices.DeleteFunc(p.entries, func(e entry) bool { return !e.open() && !keep(e.record) })
}

// index is that of the first entry at or after an offset.
func (p *partition) index(at runtime.Offset) int {
	return sort.Search(len(p.entries), func(i int) bool { return p.entries[i].record.Offset >= at })
}

// read answers the records from an offset on, until they are more than maxBytes, and the offset after them.
func (p *partition) read(at runtime.Offset, committed bool, maxBytes int) (records []broker.Record, next runtime.Offset) {
	until := p.end
	if committed {
		until = p.offsets().Stable
	}
	size := 0
	for _, e := range p.entries[p.index(at):] {
		if e.record.Offset >= until {
			break
		}
		if size >= maxBytes {
			return records, e.record.Offset
		}
		if committed && e.hidden() {
			continue
		}
		records = append(records, e.record)
		size += len(e.record.Key) + len(e.record.Value)
	}
	return records, max(at, until)
}
