package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/selfregulating/sr/migrations"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/worker"
)

func TestErrorsEndWithTheirExitCode(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("doing something: %w", err) }
	for _, c := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{wrap(&worker.HeldError{}), 1},
		{wrap(&worker.ShortReplayError{}), 1},
		{wrap(&broker.RecreatedError{}), 1},
		{wrap(&store.TxIDBehindError{}), 1},
		{errors.New("anything else"), 1},
		{wrap(context.Canceled), 1}, // nobody interrupted us
		{wrap(&usageError{"sr run", errors.New("no")}), 2},
		{wrap(topology.Problems{{File: "a.yaml", Line: 1, Column: 2, Message: "no"}}), 2},
		{&environmentError{wrap(store.ErrNameInUse)}, 2},
		{&environmentError{wrap(store.ErrChanged)}, 2},
		{wrap(broker.ErrUnreachable), 3},
		{wrap(broker.ErrNoTopic), 3},
		{wrap(broker.ErrNoPermission), 3},
		{wrap(broker.ErrSettings), 3},
		{wrap(broker.ErrFull), 3},
		{wrap(store.ErrUnreachable), 3},
		{wrap(store.ErrNoPermission), 3},
		{wrap(store.ErrFull), 3},
		{errors.Join(wrap(store.ErrFull), context.Canceled), 3},
		{wrap(&migrations.NewerError{}), 3},
		{&environmentError{errors.New("the server is too old")}, 3},
	} {
		if got := exitCode(t.Context(), c.err); got != c.code {
			t.Errorf("%v ends with %d, want %d", c.err, got, c.code)
		}
	}
}

func TestAnInterruptedCommandEndsWith130(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	for _, err := range []error{fmt.Errorf("waiting: %w", context.Canceled), fmt.Errorf("waiting: %w", errInterrupted)} {
		if got := exitCode(ctx, err); got != 130 {
			t.Errorf("%v ends with %d, want 130", err, got)
		}
	}
	if got := exitCode(ctx, errors.New("draining took too long")); got != 1 {
		t.Errorf("a run that did not drain ends with %d, want 1", got)
	}
}

func TestProblemsArePrintedForEditors(t *testing.T) {
	var out bytes.Buffer
	report(t.Context(), &out, fmt.Errorf("planning: %w", topology.Problems{
		{File: "a.yaml", Line: 1, Column: 2, Message: "one"}, {File: "a.yaml", Line: 3, Column: 4, Message: "two"},
	}))
	if want := "a.yaml:1:2: one\na.yaml:3:4: two\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestFaultsOfTheSurroundingsComeWithAdvice(t *testing.T) {
	var out bytes.Buffer
	report(t.Context(), &out, fmt.Errorf("committing: %w", store.ErrFull))
	if lines := strings.Split(out.String(), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[1], "Next: make room") {
		t.Errorf("printed %q, want the error and what to do", out.String())
	}
}
