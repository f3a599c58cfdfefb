//go:build linux

package kafkalocal

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestBrokerEndsWhenItsParentIsKilled(t *testing.T) {
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(program, "internal", "parent", "--dir", dir)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = parent.Wait() }() // killed
	defer func() { _ = parent.Process.Kill() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	var addr string
	if _, err := fmt.Sscan(line, &pid, &addr); err != nil {
		t.Fatalf("the parent said %q", line)
	}
	createTopic(t, client(t, addr), "kept", 1, nil)

	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, pid)
	if conn, err := net.Dial("tcp", addr); err == nil {
		_ = conn.Close()
		t.Error("its port still answers")
	}
	// It has saved its state.
	produce(t, client(t, start(t, dir).Addr()), "kept", nil, 1)
}

// awaitEnd waits until the process is gone, or is a zombie that nobody has collected.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	ctx := patient(t)
	for running(t, pid) {
		select {
		case <-ctx.Done():
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("process %d lives on", pid)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func running(t *testing.T, pid int) bool {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	return !strings.Contains(string(status), "State:\tZ")
}
