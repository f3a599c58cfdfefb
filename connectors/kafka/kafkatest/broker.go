package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/selfregulating/sr/connectors/internal/local"
)

const (
	// startTimeout is far above the seven seconds of an idle machine: tests share their cores.
	startTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
)

// Broker is one Kafka node, a process of its own. Its methods are not for use by several
// goroutines at once.
type Broker struct {
	cfg       Config
	java      string
	classpath string
	ports     map[Protocol]int

	process *local.Process
}

// Start runs a broker and returns once it answers. ctx bounds the start, not the broker's life:
// whoever starts a broker stops it.
func Start(ctx context.Context, cfg Config) (*Broker, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	b := &Broker{cfg: cfg.withDefaults()}
	if err := b.prepare(ctx); err != nil {
		return nil, fmt.Errorf("preparing a broker: %w", err)
	}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// Addr answers HOST:PORT of the plaintext listener.
func (b *Broker) Addr() string { return b.AddrOf(Plaintext) }

// AddrOf answers HOST:PORT of a listener, or "" if the broker has none of that protocol.
func (b *Broker) AddrOf(p Protocol) string {
	port, ok := b.ports[p]
	if !ok {
		return ""
	}
	return address(port)
}

// CAFile names a PEM file with the authority to trust on the TLS listeners.
func (b *Broker) CAFile() string { return b.file("ca.pem") }

// LogFile names the file with what the broker wrote.
func (b *Broker) LogFile() string { return b.file("broker.log") }

// PID answers the broker's process id, for signals such as SIGSTOP.
func (b *Broker) PID() int { return b.process.Pid() }

// Stop ends the broker as an operator would, by SIGTERM; one that has not ended after half a minute
// is killed, which is an error. Stopping a broker that does not run does nothing.
func (b *Broker) Stop() error {
	b.process.Signal(syscall.SIGTERM)
	select {
	case <-b.process.Done():
		return nil
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("the broker ignored SIGTERM for %s, so it was killed; see %s",
			stopTimeout, b.LogFile()), b.Kill())
	}
}

// Kill ends the broker as a crash would, by SIGKILL, and waits until it is gone.
func (b *Broker) Kill() error {
	b.process.Signal(syscall.SIGKILL)
	select {
	case <-b.process.Done():
		return nil
	case <-time.After(stopTimeout):
		return fmt.Errorf("process %d has not ended %s after SIGKILL", b.PID(), stopTimeout)
	}
}

// Restart stops the broker if it runs, and starts it again with the same ports and data.
func (b *Broker) Restart(ctx context.Context) error {
	if err := b.Stop(); err != nil {
		return err
	}
	return b.run(ctx)
}

func (b *Broker) file(name string) string { return filepath.Join(b.cfg.Dir, name) }

// run starts the process and waits until it answers; a broker that does not is killed.
func (b *Broker) run(ctx context.Context) error {
	if err := b.launch(); err != nil {
		return fmt.Errorf("starting the broker: %w", err)
	}
	if err := b.awaitReady(ctx); err != nil {
		return errors.Join(fmt.Errorf("starting the broker: %w", err), b.Kill())
	}
	return nil
}

func (b *Broker) launch() error {
	log, err := os.OpenFile(b.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own descriptor

	cmd := exec.Command(b.java, "-Xms"+b.cfg.Heap, "-Xmx"+b.cfg.Heap,
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-cp", b.classpath, mainClass, b.file("server.properties"))
	cmd.Stdout, cmd.Stderr = log, log
	onOurDeath := syscall.SIGKILL
	if b.cfg.Detached {
		onOurDeath = 0
	}
	process, err := local.Start(cmd, onOurDeath)
	if err != nil {
		return err
	}
	b.process = process
	return nil
}
