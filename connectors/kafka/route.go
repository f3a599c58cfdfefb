package kafka

import (
	"errors"
	"fmt"
	"time"

	"github.com/selfregulating/sr/runtime/broker"
)

const (
	// lookAgain is how often the topic is described though nothing seems wrong: brokers before
	// Kafka 3.1 fetch by name and would serve a re-created topic without a word.
	lookAgain = 10 * time.Second
	// calm is the time without trouble after which the next trouble is looked into at once.
	calm = 2 * time.Second
	// missesAllowed is how often in a row a topic may be unknown before we believe it: a topic that
	// was just made is not known everywhere at once.
	missesAllowed = 5
)

var (
	errNoLeader    = fmt.Errorf("%w: no broker leads the partition now", broker.ErrUnreachable)
	errNoPartition = errors.New("there is no such partition")
)

// route describes the topic whenever somebody found the layout stale, and gives cursors their leaders.
func (r *reader) route() {
	regular := time.NewTicker(lookAgain)
	defer regular.Stop()
	var last time.Time
	for tries := 0; ; {
		select {
		case <-r.reroute:
		case <-regular.C:
		case <-r.ctx.Done():
			return
		}
		if tries++; time.Since(last) > calm {
			tries = 0
		}
		if tries > 0 && !r.rest(backoff(tries)) {
			return
		}
		l, err := r.b.describe(r.ctx, r.cl, r.cfg.Topic)
		last = time.Now()
		if r.ctx.Err() == nil && !r.settle(l, err) {
			wake(r.reroute)
		}
	}
}

// rest waits, and answers false if the reader was closed meanwhile.
func (r *reader) rest(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.ctx.Done():
		return false
	}
}

// settle takes what a description said. It answers whether that settles the matter: each cursor has a
// leader, or an error that does not pass.
func (r *reader) settle(l layout, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(err, broker.ErrNoTopic) {
		r.misses++
	} else {
		r.misses = 0
	}
	switch {
	case errors.Is(err, broker.ErrNoPermission), r.misses >= missesAllowed:
		r.each(func(c *cursor) { r.fail(c, err) })
		return true
	case err != nil:
		r.each(func(c *cursor) { r.pass(c, err) })
		return false
	}
	if r.cfg.TopicID.IsZero() {
		r.cfg.TopicID = l.ID
	}
	if l.ID != r.cfg.TopicID {
		other := &broker.RecreatedError{Topic: r.cfg.Topic, Want: r.cfg.TopicID, Got: l.ID}
		r.each(func(c *cursor) { r.fail(c, other) })
		return true
	}
	r.layout = l
	settled := true
	r.each(func(c *cursor) { settled = r.place(c) && settled })
	for _, s := range r.sources {
		wake(s.kick)
	}
	return settled
}

// each visits the cursors that are being read.
func (r *reader) each(do func(*cursor)) {
	for _, c := range r.cursors {
		if !c.failed {
			do(c)
		}
	}
}

// place gives a cursor the leader that the layout names, and answers whether it names one.
func (r *reader) place(c *cursor) bool {
	at, known := r.layout.partitions[c.partition]
	switch {
	case !known && r.layout.Partitions > 0:
		r.pass(c, fmt.Errorf("partition %d of %s: %w: the topic has %d", c.partition, r.cfg.Topic, errNoPartition, r.layout.Partitions))
	case known && at.leader == noLeader:
		r.pass(c, fmt.Errorf("%s[%d]: %w", r.cfg.Topic, c.partition, errNoLeader))
	case known:
		c.leader, c.epoch = at.leader, at.epoch
		r.openSource(at.leader)
	}
	return known && at.leader != noLeader
}

// openSource starts the fetching from a leader, once.
func (r *reader) openSource(leader int32) {
	if _, ok := r.sources[leader]; !ok && r.ctx.Err() == nil {
		s := newSource(r, leader)
		r.sources[leader] = s
		r.wg.Go(s.run)
	}
}

// misplaced takes a cursor from its leader, because of err, until the router has looked again.
func (r *reader) misplaced(c *cursor, err error) {
	c.leader = noLeader
	r.pass(c, err)
	wake(r.reroute)
}
