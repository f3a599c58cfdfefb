// Command kafkaup starts and stops a real Kafka for people and scripts.
//
//	kafkaup up                  starts a broker, unless one runs, and prints its address
//	kafkaup down                stops it and removes its data
//	kafkaup run COMMAND ARG...  runs COMMAND with SR_TEST_KAFKA set, on a broker of its own if the
//	                            variable is not set already, and ends with COMMAND's exit code
//
// The broker of up and down is that of the current folder: it lives in .cache/kafka.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = "usage: kafkaup up | down | run COMMAND ARG..."

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	cancel()
	os.Exit(code)
}

// run answers the exit code: 0 done, 1 no broker could be had or stopped, 2 wrong usage; for the
// command run, that of its command.
func run(ctx context.Context, args []string) int {
	var err error
	switch {
	case len(args) == 1 && args[0] == "up":
		err = up(ctx)
	case len(args) == 1 && args[0] == "down":
		err = down()
	case len(args) > 1 && args[0] == "run":
		var code int
		if code, err = with(ctx, args[1:]); err == nil {
			return code
		}
	default:
		fmt.Fprintln(os.Stderr, usage)
		return 2
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kafkaup:", err)
		return 1
	}
	return 0
}
