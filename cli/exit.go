package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	ucli "github.com/urfave/cli/v2"

	"github.com/selfregulating/sr/migrations"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/topology"
)

// The exit codes of every command.
const (
	exitDone        = 0
	exitRuntime     = 1
	exitUsage       = 2
	exitEnvironment = 3
	exitInterrupted = 130
)

// usageError is a mistake in how a command was called.
type usageError struct {
	command string // as typed, such as "sr run"; empty if the command itself is not the matter
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// environmentError is a fault of what surrounds sr that no sentinel of broker or store names.
type environmentError struct{ err error }

func (e *environmentError) Error() string { return e.err.Error() }
func (e *environmentError) Unwrap() error { return e.err }

// surroundings are the faults of Kafka and Postgres, each with what to do about it; empty where the
// error says it.
var surroundings = []struct {
	fault error
	next  string
}{
	{broker.ErrUnreachable, ""},
	{broker.ErrNoTopic, ""},
	{broker.ErrNoPermission, "have the Kafka ACLs of this user widened"},
	{broker.ErrSettings, ""},
	{broker.ErrFull, "make room on the broker's disks, then start again: nothing that was committed is lost"},
	{store.ErrUnreachable, "check that Postgres runs, and the address, user and password in --postgres (or SR_POSTGRES)"},
	{store.ErrNoPermission, ""},
	{store.ErrFull, "make room on the database's disk, then start again: nothing that was committed is lost"},
}

// exitCode maps what a command returned to what the process answers.
func exitCode(ctx context.Context, err error) int {
	var (
		usage       *usageError
		problems    topology.Problems
		frame       ucli.ExitCoder
		environment *environmentError
		newer       *migrations.NewerError
	)
	switch {
	case err == nil:
		return exitDone
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &problems), errors.As(err, &frame),
		errors.Is(err, store.ErrNameInUse), errors.Is(err, store.ErrChanged):
		return exitUsage
	case errors.As(err, &environment), errors.As(err, &newer):
		return exitEnvironment
	}
	for _, s := range surroundings {
		if errors.Is(err, s.fault) {
			return exitEnvironment
		}
	}
	return exitRuntime
}

// report tells people what went wrong, and answers with the exit code.
func report(ctx context.Context, conversation io.Writer, err error) int {
	code := exitCode(ctx, err)
	var (
		problems topology.Problems
		usage    *usageError
	)
	switch {
	case err == nil:
	case code == exitInterrupted:
		fmt.Fprintln(conversation, "sr: interrupted before it was done")
	case errors.As(err, &problems):
		// Editors take lines that begin with file:line:column to that place.
		fmt.Fprintln(conversation, problems)
	case errors.As(err, &usage) && usage.command != "":
		fmt.Fprintf(conversation, "%s: %v\nMore: %s --help\n", usage.command, err, usage.command)
	default:
		fmt.Fprintf(conversation, "sr: %v\n", err)
		adviseOn(conversation, err)
	}
	return code
}

func adviseOn(conversation io.Writer, err error) {
	for _, s := range surroundings {
		if s.next != "" && errors.Is(err, s.fault) {
			fmt.Fprintf(conversation, "Next: %s.\n", s.next)
			return
		}
	}
}
