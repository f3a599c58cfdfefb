package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
)

// worker is a running container.
type worker struct {
	Config
	self   store.Container
	groups []*group // in the order of the plan: feeders first

	// writersMu guards writers, and is held while one is opened or a heartbeat runs.
	writersMu sync.Mutex
	writers   map[runtime.WriterID]struct{}
}

// group is the instances of one stage in this container.
type group struct {
	stage      *topology.Stage
	topic      broker.Topic
	partitions int // as last seen; the goroutine of grow owns it once the container runs
	instances  []instance
	// gates are those of the keyed operators behind the stage: closed while one of them is full.
	gates []*gate
	// done is closed when every instance of the group has ended.
	done chan struct{}
}

// instance is one parallel unit of a stage: a loop.
type instance interface {
	// run works until drain is closed and what was begun is committed, or ctx ends.
	run(ctx context.Context, drain <-chan struct{}) error
	// wake makes it look at its clocks and decisions now.
	wake()
	close()
}

// Run hosts every stage of the plan in this process until ctx ends, then drains: what was gathered
// is committed, within Config.DrainTime. It answers nil after a drain and when UntilCaughtUp is
// done; a *HeldError if another container runs the topology; otherwise what stopped it.
func Run(ctx context.Context, c Config) error {
	if err := c.validate(); err != nil {
		return err
	}
	c.defaults()
	w := &worker{
		Config:  c,
		self:    store.Container{Name: c.Name, Incarnation: runtime.NewIncarnation()},
		writers: map[runtime.WriterID]struct{}{},
	}
	if err := w.enter(ctx); err != nil {
		return err
	}
	w.Log.Info("container registered", "topology", c.Topology, "container", w.self.Name, "incarnation", w.self.Incarnation, "lease", c.Lease)
	err := w.host(ctx)
	return errors.Join(err, w.leave())
}

// host prepares the inputs and runs the loops.
func (w *worker) host(ctx context.Context) error {
	// The lease is renewed from the start: preparing topics may take longer than it lasts.
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	beats := make(chan error, 1)
	go func() { beats <- w.heartbeat(work) }()

	err := w.prepare(ctx)
	if err == nil {
		err = w.loops(ctx, work, stop, beats)
	} else {
		stop(err)
		w.late(<-beats)
	}
	for _, g := range w.groups {
		for _, i := range g.instances {
			i.close()
		}
	}
	return err
}

// prepare makes topics and rows, takes ownership, and builds the instances.
func (w *worker) prepare(ctx context.Context) error {
	gates := map[runtime.OperatorID]*gate{}
	for _, s := range w.Plan.Stages {
		if s.Keyed != nil {
			gates[s.Operator] = new(gate)
		}
	}
	for _, s := range w.Plan.Stages {
		g := &group{stage: s, done: make(chan struct{})}
		var err error
		if s.Spout != nil {
			g.topic, err = w.prepareSpout(ctx, s)
		} else {
			g.topic, err = w.prepareExchange(ctx, s.Keyed)
		}
		if err != nil {
			return err
		}
		g.partitions = g.topic.Partitions
		for _, e := range s.Outs {
			if !e.Direct {
				g.gates = append(g.gates, gates[e.To.Operator])
			}
		}
		w.groups = append(w.groups, g)
	}
	for _, g := range w.groups {
		if err := w.Store.Assign(ctx, w.self.Incarnation, g.stage.Operator); err != nil {
			return fmt.Errorf("taking the inputs of %s: %w", g.stage.Operator, err)
		}
		crash.Point("assigned")
		for i := 0; i < max(1, g.stage.Parallelism); i++ {
			inst, err := w.newInstance(g, i, gates[g.stage.Operator])
			if err != nil {
				return fmt.Errorf("building instance %d of %s: %w", i, g.stage.Operator, err)
			}
			g.instances = append(g.instances, inst)
		}
	}
	return nil
}

func (w *worker) newInstance(g *group, index int, own *gate) (instance, error) {
	if g.stage.Spout != nil {
		return w.newSource(g, index)
	}
	return w.newKeyed(g, index, own)
}

// loops runs the instances until ctx ends and all is drained, or one of them fails.
func (w *worker) loops(ctx, work context.Context, stop context.CancelCauseFunc, beats <-chan error) error {
	drain := make(chan struct{})
	var once sync.Once
	drained := func() { once.Do(func() { close(drain) }) }
	defer drained()
	defer context.AfterFunc(ctx, drained)()

	loops, loopCtx := errgroup.WithContext(work)
	for n, g := range w.groups {
		w.runGroup(loops, loopCtx, g, w.drainAfter(n, drain))
	}
	side, sideCtx := errgroup.WithContext(loopCtx)
	side.Go(func() error { return w.grow(sideCtx) })
	side.Go(func() error { return w.tidy(sideCtx) })
	if w.UntilCaughtUp {
		side.Go(func() error {
			err := w.caughtUp(sideCtx)
			if err == nil {
				drained()
			}
			return err
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- loops.Wait() }()
	sideEnded := make(chan error, 1)
	go func() { sideEnded <- side.Wait() }()

	err := w.await(drain, ended, sideEnded, beats, stop)
	return err
}

// await returns once every loop has ended: by draining, or because one failed.
func (w *worker) await(drain <-chan struct{}, ended, side, beats <-chan error, stop context.CancelCauseFunc) error {
	var first error
	var timeout <-chan time.Time
	fail := func(err error) {
		if err != nil && first == nil {
			first = err
			stop(err)
		}
	}
	running, sideRunning, beating := true, true, true
	for running {
		select {
		case <-drain:
			drain, timeout = nil, time.After(w.DrainTime)
		case <-timeout:
			fail(fmt.Errorf("draining took longer than %s; what was not committed will be read again", w.DrainTime))
		case err := <-ended:
			fail(err)
			running = false
		case err := <-side:
			fail(err)
			side, sideRunning = nil, false
		case err := <-beats:
			fail(err)
			beats, beating = nil, false
		}
	}
	stop(nil)
	if sideRunning {
		w.late(<-side)
	}
	if beating {
		w.late(<-beats)
	}
	return first
}

// late takes what ended after the run was over: it ends because it was told to.
func (w *worker) late(err error) {
	if err != nil {
		w.Log.Debug("ended with an error after the run was over", "error", err)
	}
}

// runGroup starts the instances of a stage.
func (w *worker) runGroup(loops *errgroup.Group, ctx context.Context, g *group, drain <-chan struct{}) {
	var running sync.WaitGroup
	for _, i := range g.instances {
		running.Add(1)
		loops.Go(func() error {
			defer running.Done()
			return i.run(ctx, drain)
		})
	}
	go func() {
		running.Wait()
		close(g.done)
	}()
}

// drainAfter answers when the n-th stage may drain: once asked to, and all stages before it are done,
// so that their last blocks are decided.
func (w *worker) drainAfter(n int, drain <-chan struct{}) <-chan struct{} {
	if n == 0 {
		return drain
	}
	c := make(chan struct{})
	go func() {
		<-drain
		for _, g := range w.groups[:n] {
			<-g.done
		}
		close(c)
	}()
	return c
}

// leave frees the inputs, so that the next container need not wait for the lease to end.
func (w *worker) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), w.Lease)
	defer cancel()
	if err := w.Store.Unregister(ctx, w.self.Incarnation); err != nil {
		w.Log.Warn("the container could not be unregistered; the next run waits for its lease to end", "error", err)
	}
	return nil
}
