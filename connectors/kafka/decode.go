package kafka

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/selfregulating/sr/runtime/broker"
)

var errNoProgress = errors.New("the broker answered with records before the offset that was asked for")

// haul is one fetch, decoded. Its memory is used again after Release.
type haul struct {
	catches []catch
	records []broker.Record // all records, sliced by the chunks
	headers []broker.Header
}

// catch is what a haul brought for a cursor, from the position it was asked for.
type catch struct {
	asked
	chunk broker.Chunk
}

// empty forgets what the haul holds, so that the broker's answer can be freed, and keeps the room.
func (h *haul) empty() {
	clear(h.catches)
	clear(h.records)
	clear(h.headers)
	h.catches, h.records, h.headers = h.catches[:0], h.records[:0], h.headers[:0]
}

func (r *reader) takeSpare() *haul {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.spare)
	if n == 0 {
		return new(haul)
	}
	h := r.spare[n-1]
	r.spare = r.spare[:n-1]
	return h
}

// decoder turns the batches of an answer into records. franz-go parses, checks, decompresses and leaves
// out what was aborted; it answers, and that is why we fetch by ourselves, where to go on.
type decoder struct {
	decompressor kgo.Decompressor
	options      kgo.ProcessFetchPartitionOpts
	committed    bool // ends are last stable offsets
	slab         *slab
}

func newDecoder(cfg broker.ReaderConfig) decoder {
	s := new(slab)
	d := decoder{decompressor: kgo.DefaultDecompressor(), slab: s, committed: cfg.ReadCommitted}
	d.options.Topic = cfg.Topic
	d.options.Pools = []kgo.Pool{s}
	if cfg.ReadCommitted {
		d.options.IsolationLevel = kgo.ReadCommitted()
	}
	return d
}

// partition adds a partition's records to the haul. What was good before an error is kept.
func (d *decoder) partition(h *haul, a asked, p *kmsg.FetchResponseTopicPartition) error {
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return err
	}
	if len(p.RecordBatches) == 0 {
		return nil
	}
	o := d.options
	o.Partition, o.Offset = p.Partition, a.position
	got, next := kgo.ProcessFetchPartition(o, p, d.decompressor, nil)
	defer d.slab.reset()
	switch {
	case next > a.position:
	case got.Err != nil:
		return got.Err
	default:
		return errNoProgress
	}
	from := len(h.records)
	for _, rec := range got.Records {
		h.add(rec)
	}
	h.catches = append(h.catches, catch{a, broker.Chunk{
		Partition: p.Partition,
		Records:   h.records[from:len(h.records):len(h.records)],
		Next:      next,
		End:       endOf(p, d.committed),
	}})
	return nil
}

func (h *haul) add(rec *kgo.Record) {
	var headers []broker.Header
	if len(rec.Headers) > 0 {
		from := len(h.headers)
		for _, kv := range rec.Headers {
			h.headers = append(h.headers, broker.Header(kv))
		}
		headers = h.headers[from:len(h.headers):len(h.headers)]
	}
	h.records = append(h.records, broker.Record{
		Offset:      rec.Offset,
		LeaderEpoch: rec.LeaderEpoch,
		Timestamp:   rec.Timestamp.UnixMilli(),
		Key:         rec.Key,
		Value:       rec.Value,
		Headers:     headers,
	})
}

// slab lends franz-go the records of one partition's answer; they are copied into a haul at once,
// and the same memory serves the next.
type slab struct {
	records []kgo.Record
	used    int
}

var _ kgo.PoolRecords = (*slab)(nil)

// GetRecords lends n records.
func (s *slab) GetRecords(n int) []kgo.Record {
	if s.used+n > len(s.records) {
		// Those lent so far stay where they are.
		s.records, s.used = make([]kgo.Record, max(n, 2*len(s.records))), 0
	}
	s.used += n
	return s.records[s.used-n : s.used : s.used]
}

// PutRecords does nothing: reset takes all records back.
func (s *slab) PutRecords([]kgo.Record) {}

func (s *slab) reset() {
	clear(s.records[:s.used])
	s.used = 0
}
