package pglocal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/selfregulating/sr/connectors/internal/local"
)

const (
	// pollInterval is the time between two looks at a server that is starting.
	pollInterval = 20 * time.Millisecond
	// pingTimeout ends a look at a port behind which nobody answers.
	pingTimeout = 5 * time.Second
	// outputDelay bounds the wait for the last lines of the log: backends that outlive a killed server keep it open.
	outputDelay = time.Second
)

var (
	errPortTaken = errors.New("its port is in use by another program: choose another")
	errServed    = errors.New("another Postgres is running on its data: stop that one, or use another folder")
)

// launch tries until the server is up, or fails for a reason that will not pass by itself.
func (s *Server) launch(ctx context.Context) error {
	patience := time.Now().Add(s.cfg.linger)
	for {
		if err := s.choosePort(); err != nil {
			return err
		}
		err := s.try(ctx)
		passes := errors.Is(err, errServed) || (errors.Is(err, errPortTaken) && s.freePort)
		if err == nil {
			s.freePort = false
			return nil
		}
		if !passes || time.Now().After(patience) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(pollInterval):
		}
	}
}

// choosePort takes a port that was free a moment ago. Somebody may be faster, then launch comes back.
func (s *Server) choosePort() error {
	if !s.freePort {
		return nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.cfg.Port = listener.Addr().(*net.TCPAddr).Port
	return listener.Close()
}

// try runs the server and waits until it answers. If it does not, nothing is left running.
func (s *Server) try(ctx context.Context) error {
	log := &local.Tail{}
	cmd := exec.Command(s.cfg.Binaries.Postgres, s.arguments()...)
	cmd.Dir, cmd.Env = "/", serverEnv()
	cmd.Stderr, cmd.WaitDelay = io.MultiWriter(log, s.cfg.Log), outputDelay
	s.as.apply(cmd)
	// SIGQUIT has Postgres end its backends and itself at once, where SIGKILL would leave backends behind.
	process, err := local.Start(cmd, syscall.SIGQUIT)
	if err != nil {
		return err
	}
	s.process = process
	if err := s.ready(ctx, log); err != nil {
		s.kill()
		return err
	}
	return nil
}

// arguments are the defaults, then the user's settings, then what this package relies on.
func (s *Server) arguments() []string {
	settings := map[string]string{"lc_messages": "C", "max_connections": "100"}
	maps.Copy(settings, s.cfg.Settings)
	maps.Copy(settings, map[string]string{
		"listen_addresses":        "127.0.0.1",
		"port":                    strconv.Itoa(s.cfg.Port),
		"unix_socket_directories": "",
		"logging_collector":       "off",
		"log_destination":         "stderr",
	})
	args := []string{"-D", s.cfg.dataDir()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// ready returns when the server answers a query.
func (s *Server) ready(ctx context.Context, log *local.Tail) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	// When the server ends, whoever else has the port need not be waited for.
	go func(process *local.Process) {
		_ = process.Wait(asking)
		cancel()
	}(s.process)
	for {
		err := ping(asking, s.url())
		if err == nil {
			return nil
		}
		if !passing(err) {
			return s.refused(err, log)
		}
		select {
		case <-s.process.Done():
			return ended(log)
		case <-ctx.Done():
			return fmt.Errorf("waiting for it to answer: %w\n%s", context.Cause(ctx), log)
		case <-time.After(pollInterval):
		}
	}
}

// refused tells whose answer err was: when another server has the port, ours is about to end, and says so.
func (s *Server) refused(err error, log *local.Tail) error {
	select {
	case <-s.process.Done():
		return ended(log)
	case <-time.After(outputDelay):
		return fmt.Errorf("asking it whether it is up: %w", err)
	}
}

func ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SELECT 1")
	return errors.Join(err, conn.Close(ctx))
}

// passing tells errors of a server that is not up yet (nobody listens, or 57P03) from the answers that will stay.
func passing(err error) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return !ok || answer.Code == "57P03"
}

// ended explains a server that went away while it started, by its own last words.
func ended(log *local.Tail) error {
	for _, known := range []struct {
		words string
		err   error
	}{
		{"Address already in use", errPortTaken},
		{"lock file \"postmaster.pid\" already exists", errServed},
		{"is still in use", errServed},
	} {
		if log.Contains(known.words) {
			return fmt.Errorf("%w\n%s", known.err, log)
		}
	}
	return fmt.Errorf("it ended while starting:\n%s", log)
}
