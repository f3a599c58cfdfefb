package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/crash"
	"github.com/selfregulating/sr/runtime/mutant"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

func containerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// enter makes this container the only one of the topology. It waits up to one lease for the holder
// there to renew: if it does, it is alive and HeldError is the answer; if not, it is fenced.
func (w *worker) enter(ctx context.Context) error {
	for {
		if err := w.outwait(ctx); err != nil {
			return err
		}
		if err := w.Store.Register(ctx, w.self, w.Lease); err != nil {
			return fmt.Errorf("registering the container: %w", err)
		}
		crash.Point("registered")
		others, err := w.Store.Holders(ctx, w.self.Incarnation)
		if err != nil {
			return fmt.Errorf("listing containers: %w", err)
		}
		if len(others) == 0 {
			return nil
		}
		// Another run registered in the same moment: step back, and let the wait above decide.
		if err := w.Store.Unregister(ctx, w.self.Incarnation); err != nil {
			return fmt.Errorf("stepping back from %s: %w", others[0].Name, err)
		}
		w.self.Incarnation = runtime.NewIncarnation()
	}
}

// outwait watches the holders until none is left unfenced.
func (w *worker) outwait(ctx context.Context) error {
	first := map[runtime.Incarnation]int64{}
	for {
		holders, err := w.Store.Holders(ctx, w.self.Incarnation)
		if err != nil {
			return fmt.Errorf("listing containers: %w", err)
		}
		if len(holders) == 0 {
			return nil
		}
		wait := w.Lease / 10
		for _, h := range holders {
			seen, known := first[h.Incarnation]
			switch {
			case known && h.Renewed > seen:
				return &HeldError{w.Topology, h}
			case h.LeaseLeft <= 0:
				if err := w.takeOver(ctx, h); err != nil {
					return err
				}
			default:
				first[h.Incarnation] = h.Renewed
				wait = min(wait, h.LeaseLeft+time.Millisecond)
			}
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func (w *worker) takeOver(ctx context.Context, h store.Holder) error {
	w.Log.Info("taking over from a silent container", "holder", h.Name, "incarnation", h.Incarnation, "silent_for", -h.LeaseLeft)
	crash.Point("taking-over")
	if err := w.Store.Fence(ctx, h.Incarnation, runtime.Incarnation{}); err != nil {
		return fmt.Errorf("fencing %s: %w", h.Name, err)
	}
	crash.Point("taken-over")
	return nil
}

// heartbeat renews the lease until ctx ends, and closes writers that no instance uses (Writing 6).
// A store that does not answer is no reason to stop: the rows decide whether we still own anything.
func (w *worker) heartbeat(ctx context.Context) error {
	every := time.NewTicker(w.Lease / 3)
	defer every.Stop()
	silent := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
		err := w.beat(ctx)
		switch {
		case err == nil:
			if !silent.IsZero() {
				w.Log.Info("lease renewed again", "after", time.Since(silent).Round(time.Millisecond))
			}
			silent = time.Time{}
		case errors.Is(err, protocol.ErrFenced):
			return fmt.Errorf("renewing the lease: %w; another container took over while this one was silent for longer than %s", err, w.Lease)
		case ctx.Err() != nil:
			return nil
		case silent.IsZero():
			silent = time.Now()
			w.Log.Warn("the lease could not be renewed; trying on", "error", err)
		}
	}
}

// beat is one heartbeat. The writers in use are listed while none can be opened, so that a writer
// opened during the heartbeat is not taken for a stray.
func (w *worker) beat(ctx context.Context) error {
	w.writersMu.Lock()
	defer w.writersMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, w.Lease)
	defer cancel()
	inUse := make([]runtime.WriterID, 0, len(w.writers))
	for id := range w.writers {
		inUse = append(inUse, id)
	}
	return w.Store.Heartbeat(ctx, w.self.Incarnation, w.Lease, inUse)
}

// openWriter inserts a writer's row and remembers it as in use.
func (w *worker) openWriter(ctx context.Context, stage string) (runtime.WriterID, error) {
	w.writersMu.Lock()
	defer w.writersMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	id := runtime.NewWriterID()
	if mutant.On("strayWritersLeft") {
		w.writers[id] = struct{}{}
	}
	if err := w.Store.OpenWriter(ctx, w.self.Incarnation, stage, id); err != nil {
		return runtime.WriterID{}, fmt.Errorf("opening a writer of %s: %w", stage, err)
	}
	w.writers[id] = struct{}{}
	return id, nil
}

// closeWriter closes a writer's row; on error the next heartbeat does it.
func (w *worker) closeWriter(ctx context.Context, id runtime.WriterID) error {
	w.writersMu.Lock()
	delete(w.writers, id)
	w.writersMu.Unlock()
	crash.Point("writer-closing")
	err := w.Store.CloseWriter(ctx, id)
	if err == nil {
		crash.Point("writer-closed")
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
