package pglocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/selfregulating/sr/connectors/internal/local"
)

// stopPatience is how long a shutdown in good order may take, and again an immediate one.
const stopPatience = 20 * time.Second

// Server is a Postgres server of ours. Its methods may be called from several goroutines.
type Server struct {
	cfg      Config // complete: Dir absolute, Binaries and Port set
	as       *account
	password string
	freePort bool // the port may still change: the server was never up

	mu      sync.Mutex
	process *local.Process // of the latest life
}

// Start serves the cluster of cfg.Dir, which it makes if there is none, and returns when the server answers queries.
// A cluster whose server was killed is recovered; one that is still being served is waited for a while, then
// refused. ctx bounds the start alone.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s, err := newServer(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("starting Postgres in %s: %w", cfg.Dir, err)
	}
	if err := s.Restart(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func newServer(ctx context.Context, cfg Config) (_ *Server, err error) {
	if cfg.Binaries == (Binaries{}) {
		if cfg.Binaries, err = Find(ctx, cfg); err != nil {
			return nil, err
		}
	}
	if cfg.Dir, err = resolve(cfg.Dir); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, freePort: cfg.Port == 0}
	if s.as, err = accountFor(cfg.dataDir()); err != nil {
		return nil, err
	}
	s.password, err = prepare(ctx, cfg, s.as)
	return s, err
}

// resolve makes dir, and names it without links.
func resolve(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	// The server's user must pass through, as must everyone who is to reach a folder that he owns in it.
	if err := mkdirAll(dir, 0o711); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// URL connects as the superuser, to the database postgres. It contains the password.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url()
}

func (s *Server) url() string {
	return (&url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, s.password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(s.cfg.Port)),
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}).String()
}

// Pid is the process id of the server, also after its end.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Pid()
}

// Restart stops the server if it runs, starts it at the same port, and returns when it answers. After Kill the
// server recovers first.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A stop that was not clean costs a recovery, and no more.
	_ = s.stop(ctx)
	if err := s.launch(ctx); err != nil {
		return fmt.Errorf("starting Postgres in %s: %w", s.cfg.Dir, err)
	}
	return nil
}

// Stop ends the server: connections are cut, and the data is checkpointed. When that takes too long, or ctx ends, the
// server is stopped at once, which the next start recovers from; the error says so. Stopping twice is no error.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop(ctx)
}

func (s *Server) stop(ctx context.Context) error {
	if s.process == nil || s.process.Ended() {
		return nil
	}
	if s.endsBy(ctx, syscall.SIGINT) {
		return nil
	}
	immediate := s.endsBy(context.WithoutCancel(ctx), syscall.SIGQUIT)
	if !immediate {
		s.kill()
	}
	return errors.Join(fmt.Errorf("stopping Postgres in %s: it was stopped without a checkpoint, and will recover at its next start", s.cfg.Dir), ctx.Err())
}

// endsBy sends the signal and tells whether the server ends within stopPatience and ctx.
func (s *Server) endsBy(ctx context.Context, signal syscall.Signal) bool {
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	s.process.Signal(signal)
	select {
	case <-s.process.Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// Kill ends the server as a crash would (SIGKILL) and returns when it is gone.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

func (s *Server) kill() {
	s.process.Signal(syscall.SIGKILL)
	<-s.process.Done()
}
