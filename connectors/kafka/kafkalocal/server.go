package kafkalocal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/selfregulating/sr/connectors/internal/local"
)

// stopPatience is how long a broker may take to save its state.
const stopPatience = 20 * time.Second

// Server is a broker in a process of its own. On Linux it ends with this process, also when that is killed; it saves
// its state then. Its methods may be called from several goroutines.
type Server struct {
	cfg Config // Port is set once the broker was up

	mu      sync.Mutex
	process *local.Process // of the latest life
	addr    string
}

// Start runs this program with cfg.Command as a broker, and returns when clients may connect. ctx bounds the start
// alone.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if len(cfg.Command) == 0 {
		return nil, errors.New("the arguments that lead this program to the Kafka broker are not given: set Command")
	}
	if cfg.Log == nil {
		cfg.Log = io.Discard
	}
	s := &Server{cfg: cfg}
	if err := s.Restart(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Addr is the broker's address, host:port, the same for every life.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// Pid is the process id of the broker, also after its end.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Pid()
}

// Restart stops the broker if it runs, and starts it again at the same address.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A stop that was not clean costs a recovery, and no more.
	_ = s.stop(ctx)
	if err := s.launch(ctx); err != nil {
		return fmt.Errorf("starting Kafka in %s: %w", s.cfg.Dir, err)
	}
	return nil
}

func (s *Server) launch(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	tail := &local.Tail{}
	ready := newReadyWriter(io.MultiWriter(tail, s.cfg.Log))
	cmd := exec.Command(program, s.cfg.arguments()...)
	cmd.Stdout, cmd.Stderr = ready, ready
	// SIGTERM has the broker save its state, which Serve bounds.
	process, err := local.Start(cmd, syscall.SIGTERM)
	if err != nil {
		return err
	}
	s.process = process
	select {
	case addr := <-ready.addr:
		return s.settle(addr)
	case <-process.Done():
		return fmt.Errorf("it ended while starting (%w):\n%s", process.Wait(ctx), tail)
	case <-ctx.Done():
		s.kill()
		return fmt.Errorf("waiting for it to be ready: %w\n%s", context.Cause(ctx), tail)
	}
}

// settle keeps the address for the next lives.
func (s *Server) settle(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		s.cfg.Port, err = strconv.Atoi(port)
	}
	if err != nil {
		s.kill()
		return fmt.Errorf("reading its address %q: %w", addr, err)
	}
	s.addr = addr
	return nil
}

// Stop ends the broker after it has saved its state. When that takes too long, or ctx ends, it is killed, which the
// next start recovers from; the error says so. Stopping twice is no error.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop(ctx)
}

func (s *Server) stop(ctx context.Context) error {
	if s.process == nil || s.process.Ended() {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	s.process.Signal(syscall.SIGTERM)
	select {
	case <-s.process.Done():
		return nil
	case <-waiting.Done():
		s.kill()
		return fmt.Errorf("stopping Kafka in %s: it was killed, and will recover at its next start: %w", s.cfg.Dir, context.Cause(waiting))
	}
}

// Kill ends the broker as a crash would (SIGKILL) and returns when it is gone.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

func (s *Server) kill() {
	s.process.Signal(syscall.SIGKILL)
	<-s.process.Done()
}
