package kafka

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/selfregulating/sr/runtime/broker"
)

// source fetches from one leader: one request at a time, one haul ready. While that one is worked on
// the next is being fetched.
type source struct {
	r      *reader
	leader int32
	kick   chan struct{} // there may be something to fetch
	decode decoder
	count  uint64 // fetches so far

	ready *haul // guarded by reader.mu
}

func newSource(r *reader, leader int32) *source {
	return &source{r: r, leader: leader, kick: make(chan struct{}, 1), decode: newDecoder(r.cfg)}
}

// run fetches while there is something to fetch, until the reader is closed.
func (s *source) run() {
	for {
		select {
		case <-s.kick:
		case <-s.r.ctx.Done():
			return
		}
		for s.r.ctx.Err() == nil {
			cursors, req := s.plan()
			if req == nil {
				break
			}
			s.fetch(cursors, req)
		}
	}
}

// asked is a cursor as it was when a fetch was built.
type asked struct {
	cursor   *cursor
	position int64
}

// plan builds a fetch for all cursors of this leader. It answers nil while a haul is waiting or there
// is nothing to read.
func (s *source) plan() (map[int32]asked, *kmsg.FetchRequest) {
	r := s.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.ready != nil {
		return nil, nil
	}
	var line []*cursor
	r.each(func(c *cursor) {
		if c.leader == s.leader && !r.paused[c.partition] {
			line = append(line, c)
		}
	})
	if len(line) == 0 {
		return nil, nil
	}
	// The broker fills an answer in the order of the request until it is full.
	slices.SortFunc(line, func(a, b *cursor) int {
		return cmp.Or(cmp.Compare(a.served, b.served), cmp.Compare(a.partition, b.partition))
	})
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = r.cfg.Topic, r.layout.ID
	cursors := make(map[int32]asked, len(line))
	for _, c := range line {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.CurrentLeaderEpoch = c.partition, c.position, c.epoch
		p.PartitionMaxBytes = r.cfg.MaxPartitionBytes
		topic.Partitions = append(topic.Partitions, p)
		cursors[c.partition] = asked{c, c.position}
	}
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(r.cfg.MaxWait.Milliseconds())
	req.MinBytes, req.MaxBytes = 1, r.cfg.MaxBytes
	req.SessionEpoch = -1 // no session: the request is small, and says all there is to say
	if r.cfg.ReadCommitted {
		req.IsolationLevel = readCommitted
	}
	req.Topics = append(req.Topics, topic)
	return cursors, req
}

// fetch asks the leader and leaves what it answered for Poll.
func (s *source) fetch(cursors map[int32]asked, req *kmsg.FetchRequest) {
	r := s.r
	s.count++
	answer, err := r.cl.Broker(int(s.leader)).Request(r.ctx, req)
	if r.ctx.Err() != nil {
		return
	}
	if err == nil {
		err = kerr.ErrorForCode(answer.(*kmsg.FetchResponse).ErrorCode)
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, a := range cursors {
			r.misplaced(a.cursor, fmt.Errorf("fetching from broker %d: %w", s.leader, r.b.unanswered(r.ctx, err)))
		}
		return
	}
	h, refusals := s.haul(cursors, answer.(*kmsg.FetchResponse))
	for _, refusal := range refusals {
		s.refuse(refusal)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(h.catches) == 0 {
		r.recycle([]*haul{h})
		return
	}
	for _, catch := range h.catches {
		catch.cursor.served = s.count
		catch.cursor.told = ""
	}
	s.ready = h
	wake(r.arrived)
}

// refusal is a partition of an answer that brought an error.
type refusal struct {
	asked
	err error
}

// haul decodes an answer.
func (s *source) haul(cursors map[int32]asked, answer *kmsg.FetchResponse) (*haul, []refusal) {
	h := s.r.takeSpare()
	var refusals []refusal
	silent := answer.ThrottleMillis == 0
	for _, t := range answer.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			a, ok := cursors[p.Partition]
			if !ok {
				continue
			}
			silent = silent && len(p.RecordBatches) == 0
			if err := s.decode.partition(h, a, p); err != nil {
				refusals = append(refusals, refusal{a, err})
			}
		}
	}
	if silent {
		s.skipEmptyTails(h, cursors, answer)
	}
	return h, refusals
}

// refuse deals with the error of a partition.
func (s *source) refuse(f refusal) {
	r := s.r
	switch {
	case errors.Is(f.err, kerr.OffsetOutOfRange):
		s.outOfRange(f.asked)
		return
	case errors.Is(f.err, kerr.TopicAuthorizationFailed):
		r.mu.Lock()
		defer r.mu.Unlock()
		r.fail(f.cursor, fmt.Errorf("reading topic %s: %w: our user needs the ACL operation Read on it (%w)", r.cfg.Topic, broker.ErrNoPermission, f.err))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.misplaced(f.cursor, fmt.Errorf("fetching %s[%d] from broker %d: %w", r.cfg.Topic, f.cursor.partition, s.leader, f.err))
}

// outOfRange asks where the log begins and ends before it says that the position is in neither: a
// leader that lags behind may say so of a position that is in the log.
func (s *source) outOfRange(a asked) {
	r := s.r
	one := s.only(a.cursor)
	bounds, err := r.b.bounds(r.ctx, r.cl, one)
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := bounds[a.cursor.partition]
	if err != nil || !ok || o.Start <= a.position && a.position <= o.End {
		r.misplaced(a.cursor, fmt.Errorf("%s[%d] at offset %d: %w", r.cfg.Topic, a.cursor.partition, a.position, kerr.OffsetOutOfRange))
		return
	}
	r.fail(a.cursor, &broker.OutOfRangeError{Topic: r.cfg.Topic, Partition: a.cursor.partition, At: a.position, Offsets: o})
}

// only is the layout reduced to one cursor.
func (s *source) only(c *cursor) layout {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	return layout{
		Topic:      s.r.layout.Topic,
		partitions: map[int32]leadership{c.partition: {leader: s.leader, epoch: c.epoch}},
	}
}
