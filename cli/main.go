package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/selfregulating/sr/runtime/topology"
)

// Streams are the standard streams of a process.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Main runs the command in args, whose first is the program's name, and answers with its exit code:
// 0 done, 1 stopped while running, 2 wrong usage or topology, 3 Kafka or Postgres unusable, 130
// interrupted before there was something to end well. The topologies can be run by name.
//
// Main listens to SIGINT and SIGTERM while it runs: the first ends the command well, which for a run
// means that it drains; the second ends the process at once.
func Main(ctx context.Context, args []string, streams Streams, topologies ...*topology.Builder) int {
	ctx, stop := untilInterrupted(ctx, streams.Err)
	defer stop()
	a := &app{Streams: streams, topologies: topologies}
	err := a.run(ctx, args)
	return report(ctx, streams.Err, err)
}

// errInterrupted is why the context of a command ended.
var errInterrupted = errors.New("interrupted")

// untilInterrupted answers a context that ends at the first signal; the second ends the process.
func untilInterrupted(parent context.Context, conversation io.Writer) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		for first := true; ; first = false {
			select {
			case <-ended:
				return
			case <-signals:
			}
			if !first {
				os.Exit(exitInterrupted)
			}
			fmt.Fprintln(conversation, "sr: stopping; a second signal stops at once")
			cancel(errInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(ended)
		cancel(nil)
	}
}
