package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

// patience says how failures of one instance in a row are waited out. A success resets it.
type patience struct {
	pause time.Duration
	// strange is since when errors come that nobody foresaw: if they stay, they are a defect, and
	// waiting hides it.
	strange time.Time
}

const maxStrange = 30 * time.Second

// wait answers nil after a pause if the instance should start again from its rows, else why it stops.
func (p *patience) wait(ctx context.Context, log *slog.Logger, op runtime.OperatorID, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	switch {
	case transient(err):
		p.strange = time.Time{}
	case p.strange.IsZero():
		p.strange = time.Now()
	}
	if terminal(err) || !p.strange.IsZero() && time.Since(p.strange) >= maxStrange {
		return fmt.Errorf("%s: %w", op, err)
	}
	p.pause = min(max(2*p.pause, 20*time.Millisecond), time.Second)
	log.Warn("starting again from the committed rows", "error", err, "after", p.pause)
	_ = sleep(ctx, p.pause) // the loop looks at ctx itself
	return nil
}

// transient tells errors that are expected to go away.
func transient(err error) bool {
	var refused *refusedError
	if errors.As(err, &refused) {
		return true
	}
	for _, target := range []error{
		protocol.ErrLost, protocol.ErrUnknown, store.ErrUnreachable, broker.ErrUnreachable, context.DeadlineExceeded,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// terminal tells errors that waiting does not mend.
func terminal(err error) bool {
	var (
		recreated *broker.RecreatedError
		behind    *store.TxIDBehindError
		gap       *protocol.GapError
		back      *protocol.WentBackError
		signature *SignatureError
		short     *ShortReplayError
		grown     *GrownError
		ranged    *RangeError
	)
	for _, target := range []error{
		broker.ErrNoTopic, broker.ErrNoPermission, broker.ErrSettings, broker.ErrFull,
		store.ErrNoPermission, store.ErrFull, store.ErrChanged, protocol.ErrFenced,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return errors.As(err, &recreated) || errors.As(err, &behind) || errors.As(err, &gap) || errors.As(err, &back) ||
		errors.As(err, &signature) || errors.As(err, &short) || errors.As(err, &grown) || errors.As(err, &ranged)
}
