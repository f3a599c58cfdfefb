package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/selfregulating/sr/connectors/kafka/kafkatest"
)

// with runs a command that finds a broker in its environment, and answers its exit code.
func with(ctx context.Context, command []string) (code int, err error) {
	addr := os.Getenv(kafkatest.EnvAddr)
	if addr == "" {
		dir, err := os.MkdirTemp("", "sr-kafka-")
		if err != nil {
			return 0, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		b, err := kafkatest.Start(ctx, kafkatest.Config{Dir: dir, Log: os.Stderr})
		if err != nil {
			return 0, err
		}
		defer func() { _ = b.Stop() }()
		addr = b.Addr()
	}
	return runCommand(ctx, command, addr)
}

func runCommand(ctx context.Context, command []string, addr string) (code int, err error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), kafkatest.EnvAddr+"="+addr)
	// An interrupted command may have brokers and databases of its own to stop.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil // -1: ended by a signal
	}
	return 0, err
}
