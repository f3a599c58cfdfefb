package local

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Process is a running child. On Linux it does not outlive this process, whatever ends it: the kernel then
// sends the child the signal given to Start. Elsewhere only a stop in good order ends the child.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // of Wait; set before done is closed
}

// Start runs cmd in a process group of its own, so that a Ctrl-C in the terminal reaches this process alone,
// which then stops its children in its own order.
func Start(cmd *exec.Cmd, onDeath syscall.Signal) (*Process, error) {
	tie(cmd, onDeath)
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.supervise(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// supervise keeps its thread for as long as the child lives: the kernel watches the thread that forked, not the
// process, and Go may end an idle thread at any time.
func (p *Process) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	close(p.done)
}

// Pid is the child's process id, also after its end.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends sig to the child alone; a child that has ended is no error.
func (p *Process) Signal(sig os.Signal) {
	// The one error that can occur is that the child has ended, which Done tells.
	_ = p.cmd.Process.Signal(sig)
}

// Done is closed when the child has ended and its output has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait blocks until the child has ended and returns how, or until ctx has ended and returns its cause.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Ended tells whether the child has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
