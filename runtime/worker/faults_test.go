package worker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/selfregulating/sr/connectors/memory"
	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// faults stand between a container and its broker and store. A test sets them before the container
// starts, or through set.
type faults struct {
	mu sync.Mutex
	// around is called for every request but commits and polls: it answers for it, calling do or not.
	around func(op string, do func() error) error
	// committing is called for every commit.
	committing func(*attempt) error
	// fetched may change what a poll of a topic answers.
	fetched func(topic string, f *broker.Fetch)
	// views may change what the store says of writers.
	views func(protocol.View) protocol.View
	// pollPause delays every poll, fetchBytes bounds what it answers of a partition.
	pollPause  time.Duration
	fetchBytes int32

	journal []string
	commits []protocol.Commit
	opened  []runtime.WriterID
	listed  map[runtime.WriterID][]protocol.CloseOffset
	trims   []map[int32]runtime.Offset
}

// attempt is a commit under way: what it does can be done at any time later, as by a backend whose
// client has long gone.
type attempt struct {
	protocol.Commit
	Writes store.Writes
	// stage is the operator whose inputs move; that of the writer if none do.
	stage  string
	result protocol.Result
	do     func() error
}

// once answers true the first time.
func once() func() bool {
	var asked atomic.Bool
	return func() bool { return !asked.Swap(true) }
}

var errInjected = errors.New("an injected fault")

func (f *faults) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// call passes a request through.
func (f *faults) call(op string, do func() error) error {
	f.mu.Lock()
	f.journal = append(f.journal, op)
	around := f.around
	f.mu.Unlock()
	if around == nil {
		return do()
	}
	return around(op, do)
}

// did are the requests made so far, in order, of those whose names begin with one of the prefixes.
func (f *faults) did(prefixes ...string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.journal), func(op string) bool {
		return !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(op, p) })
	})
}

// moves are the commits so far that moved an operator's inputs.
func (f *faults) moves(op runtime.OperatorID) (found []protocol.Commit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.commits {
		if len(c.Moves) > 0 && c.Moves[0].Input.Operator == op {
			found = append(found, c)
		}
	}
	return found
}

// brokerLink is a container's connection to the broker.
type brokerLink struct {
	*memory.Broker
	f *faults
}

func (b *brokerLink) Topic(ctx context.Context, name string) (t broker.Topic, err error) {
	err = b.f.call("topic "+short(name), func() error { t, err = b.Broker.Topic(ctx, name); return err })
	return t, err
}

func (b *brokerLink) Offsets(ctx context.Context, name string) (o map[int32]broker.Offsets, err error) {
	err = b.f.call("offsets "+short(name), func() error { o, err = b.Broker.Offsets(ctx, name); return err })
	return o, err
}

func (b *brokerLink) Trim(ctx context.Context, name string, below map[int32]runtime.Offset) error {
	b.f.set(func() { b.f.trims = append(b.f.trims, below) })
	return b.f.call("trim "+short(name), func() error { return b.Broker.Trim(ctx, name, below) })
}

// short is the operator in the name of an exchange topic.
func short(topic string) string {
	if parts := strings.Split(topic, "."); len(parts) == 4 {
		return parts[2]
	}
	return topic
}

func (b *brokerLink) NewReader(c broker.ReaderConfig) (broker.Reader, error) {
	if b.f.fetchBytes > 0 {
		c.MaxPartitionBytes = b.f.fetchBytes
	}
	r, err := b.Broker.NewReader(c)
	return &readerLink{r, c.Topic, b.f}, err
}

type readerLink struct {
	broker.Reader
	topic string
	f     *faults
}

func (r *readerLink) Poll(ctx context.Context) (broker.Fetch, error) {
	r.f.mu.Lock()
	pause, fetched := r.f.pollPause, r.f.fetched
	r.f.mu.Unlock()
	if pause > 0 {
		time.Sleep(pause)
	}
	f, err := r.Reader.Poll(ctx)
	if fetched != nil {
		fetched(short(r.topic), &f)
	}
	return f, err
}

func (b *brokerLink) NewAppender(c broker.AppenderConfig) (broker.Appender, error) {
	a, err := b.Broker.NewAppender(c)
	return &appenderLink{a, b.f}, err
}

type appenderLink struct {
	broker.Appender
	f *faults
}

func (a *appenderLink) Append(ctx context.Context, topic string, partition int32, value []byte, done func(error)) {
	go func() {
		done(a.f.call("append "+short(topic), func() error {
			acked := make(chan error, 1)
			a.Appender.Append(ctx, topic, partition, value, func(err error) { acked <- err })
			return <-acked
		}))
	}()
}

// storeLink is a container's connection to the store.
type storeLink struct {
	*memory.Store
	f *faults
}

func (s *storeLink) Commit(ctx context.Context, c protocol.Commit, w store.Writes) (protocol.Result, error) {
	a := &attempt{Commit: c, Writes: copied(w), stage: "writer"}
	if len(c.Moves) > 0 {
		a.stage = string(c.Moves[0].Input.Operator)
	}
	a.do = func() (err error) {
		a.result, err = s.Store.Commit(context.WithoutCancel(ctx), c, a.Writes)
		return err
	}
	s.f.mu.Lock()
	s.f.journal, s.f.commits = append(s.f.journal, "commit "+a.stage), append(s.f.commits, c)
	committing := s.f.committing
	s.f.mu.Unlock()
	if committing == nil {
		committing = (*attempt).run
	}
	if err := committing(a); err != nil {
		return protocol.Result{}, err
	}
	return a.result, nil
}

func (a *attempt) run() error { return a.do() }

// copied are the writes as they were sent: a batch's tables are used again once it was given up.
func copied(w store.Writes) store.Writes {
	w.Folds, w.DeadLetters = slices.Clone(w.Folds), slices.Clone(w.DeadLetters)
	for i := range w.Folds {
		w.Folds[i].Partials = w.Folds[i].Partials.Without(func([]byte) bool { return false })
	}
	return w
}

func (s *storeLink) Register(ctx context.Context, c store.Container, lease time.Duration) error {
	return s.f.call("register", func() error { return s.Store.Register(ctx, c, lease) })
}

func (s *storeLink) Heartbeat(ctx context.Context, c runtime.Incarnation, lease time.Duration, inUse []runtime.WriterID) error {
	return s.f.call("heartbeat", func() error { return s.Store.Heartbeat(ctx, c, lease, inUse) })
}

func (s *storeLink) Unregister(ctx context.Context, c runtime.Incarnation) error {
	return s.f.call("unregister", func() error { return s.Store.Unregister(ctx, c) })
}

func (s *storeLink) Fence(ctx context.Context, c, to runtime.Incarnation) error {
	return s.f.call("fence", func() error { return s.Store.Fence(ctx, c, to) })
}

func (s *storeLink) OpenWriter(ctx context.Context, c runtime.Incarnation, stage string, id runtime.WriterID) error {
	s.f.set(func() { s.f.opened = append(s.f.opened, id) })
	return s.f.call("open writer "+stage, func() error { return s.Store.OpenWriter(ctx, c, stage, id) })
}

func (s *storeLink) CloseWriter(ctx context.Context, id runtime.WriterID) error {
	return s.f.call("close writer", func() error { return s.Store.CloseWriter(ctx, id) })
}

func (s *storeLink) View(ctx context.Context, ids []runtime.WriterID) (v protocol.View, err error) {
	err = s.f.call("view", func() error { v, err = s.Store.View(ctx, ids); return err })
	if s.f.views != nil {
		v = s.f.views(v)
	}
	return v, err
}

func (s *storeLink) Unlisted(ctx context.Context, stage string) (ids []runtime.WriterID, err error) {
	err = s.f.call("unlisted "+stage, func() error { ids, err = s.Store.Unlisted(ctx, stage); return err })
	return ids, err
}

func (s *storeLink) ListClose(ctx context.Context, ids []runtime.WriterID, offsets []protocol.CloseOffset) error {
	s.f.set(func() {
		if s.f.listed == nil {
			s.f.listed = map[runtime.WriterID][]protocol.CloseOffset{}
		}
		for _, id := range ids {
			s.f.listed[id] = offsets
		}
	})
	return s.f.call("list close", func() error { return s.Store.ListClose(ctx, ids, offsets) })
}

func (s *storeLink) DeleteWriters(ctx context.Context, margin time.Duration) (n int, err error) {
	err = s.f.call("delete writers", func() error { n, err = s.Store.DeleteWriters(ctx, margin); return err })
	return n, err
}

func (s *storeLink) Load(ctx context.Context, op runtime.OperatorID) (rows []protocol.Progress, err error) {
	err = s.f.call("load "+string(op), func() error { rows, err = s.Store.Load(ctx, op); return err })
	return rows, err
}

func (s *storeLink) RaiseEpochs(ctx context.Context, c runtime.Incarnation, ins []runtime.Input) error {
	return s.f.call("raise epochs", func() error { return s.Store.RaiseEpochs(ctx, c, ins) })
}

func (s *storeLink) Describe(ctx context.Context, c runtime.Incarnation, epochs []runtime.Epoch, ds []protocol.Descriptor) error {
	return s.f.call("describe", func() error { return s.Store.Describe(ctx, c, epochs, ds) })
}

func (s *storeLink) Refused(ctx context.Context, w store.Writes) (refused []store.Refusal, err error) {
	err = s.f.call("refused", func() error { refused, err = s.Store.Refused(ctx, w); return err })
	return refused, err
}

func (s *storeLink) ReadRows(ctx context.Context, t *state.Table, b runtime.Bucket, keys [][]byte) (rows []store.Row, err error) {
	err = s.f.call("read rows", func() error { rows, err = s.Store.ReadRows(ctx, t, b, keys); return err })
	return rows, err
}
