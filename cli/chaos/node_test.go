//go:build kafka

package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// node is a process that runs the cell of a world.
type node struct {
	w    *world
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// launch is what one run of the node has of its own.
type launch struct {
	crashAt, stopAt string // point[:n]
	untilCaughtUp   bool
	postgres        string // instead of the world's
	args            []string
}

// start runs the node.
func (w *world) start(l launch) *node {
	w.t.Helper()
	url := w.url
	if l.postgres != "" {
		url = l.postgres
	}
	args := append([]string{
		"--cell", w.cell.String(), "--topic", w.topic, "--kafka", w.kafka, "--postgres", url,
		"--lease", lease.String(), fmt.Sprintf("--until-caught-up=%t", l.untilCaughtUp),
	}, l.args...)
	w.nodes++
	n := &node{w: w, log: filepath.Join(w.dir, fmt.Sprintf("node-%d.log", w.nodes)), done: make(chan struct{})}
	log, err := os.Create(n.log)
	must(w.t, err)
	defer log.Close() // the process has its own descriptor
	n.cmd = exec.Command(nodeBinary(w.t), args...)
	n.cmd.Stderr, n.cmd.Stdout = log, log
	n.cmd.Env = append(os.Environ(), "SR_CRASH_AT="+l.crashAt, "SR_STOP_AT="+l.stopAt, "GOMAXPROCS=2")
	must(w.t, n.cmd.Start())
	go func() {
		_ = n.cmd.Wait()
		close(n.done)
	}()
	w.t.Cleanup(func() {
		n.kill()
		if w.t.Failed() {
			w.t.Logf("%s %s %s:\n%s", filepath.Base(n.log), l.crashAt, l.stopAt, tail(n.said()))
		}
	})
	return n
}

func (n *node) signal(s syscall.Signal) { _ = n.cmd.Process.Signal(s) }

// kill ends the process if it still runs, and waits for its end.
func (n *node) kill() {
	n.signal(syscall.SIGKILL)
	<-n.done
}

func (n *node) running() bool {
	select {
	case <-n.done:
		return false
	default:
		return true
	}
}

// said is what the node has written so far.
func (n *node) said() string {
	text, err := os.ReadFile(n.log)
	must(n.w.t, err)
	return string(text)
}

// ends waits for the end of the process.
func (n *node) ends() {
	n.w.t.Helper()
	select {
	case <-n.done:
	case <-time.After(patience):
		n.signal(syscall.SIGQUIT) // has it tell where its goroutines are
		<-n.done
		n.w.t.Fatalf("%s still ran after %s", filepath.Base(n.log), patience)
	}
}

// succeeds waits for a good end.
func (n *node) succeeds() {
	n.w.t.Helper()
	n.ends()
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		n.w.t.Fatalf("%s ended with %d, want 0", filepath.Base(n.log), code)
	}
}

// stopsWith waits for an end by an error that holds the words.
func (n *node) stopsWith(words string) {
	n.w.t.Helper()
	n.ends()
	if code := n.cmd.ProcessState.ExitCode(); code != 1 {
		n.w.t.Fatalf("%s ended with %d, want 1", filepath.Base(n.log), code)
	}
	if !strings.Contains(n.said(), words) {
		n.w.t.Fatalf("%s did not stop because of %q", filepath.Base(n.log), words)
	}
}

// crashesAt waits for the end at a crash point: any other end is a fault that was not injected.
func (n *node) crashesAt(point string) {
	n.w.t.Helper()
	n.ends()
	if !strings.Contains(n.said(), "crash point "+point+" reached") {
		n.w.t.Fatalf("%s ended (%s) without reaching the crash point %s", filepath.Base(n.log), n.cmd.ProcessState, point)
	}
	tally.killed(n.w.cell.String(), point)
}

func (n *node) stopped(point string) bool {
	return strings.Contains(n.said(), "stop point "+point+" reached")
}

// freezesAt waits until the node has stopped itself.
func (n *node) freezesAt(point string) {
	n.w.t.Helper()
	n.says("stop point " + point + " reached")
	n.frozen()
}

// frozen waits until every thread of the node is stopped.
func (n *node) frozen() {
	n.w.t.Helper()
	eventually(n.w.t, "the freeze of a node", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
		if err != nil {
			n.w.t.Fatalf("reading the state of a node: %v", err)
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		return strings.HasPrefix(rest, "T")
	})
}

// says waits until the node has written the words.
func (n *node) says(words string) {
	n.w.t.Helper()
	eventually(n.w.t, fmt.Sprintf("%q in %s", words, filepath.Base(n.log)), func() bool {
		over := !n.running()
		if strings.Contains(n.said(), words) {
			return true
		}
		if over {
			n.w.t.Fatalf("%s ended (%s) before it said %q", filepath.Base(n.log), n.cmd.ProcessState, words)
		}
		return false
	})
}

// tail is the end of a log.
func tail(text string) string {
	most := 60
	if strings.Contains(text, "SIGQUIT") {
		most = 1000
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
