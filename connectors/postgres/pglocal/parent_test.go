//go:build linux

package pglocal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentVariable makes the test binary a process that serves the folder it names and waits to be killed.
const parentVariable = "SR_PGLOCAL_TEST_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentVariable); dir != "" {
		serveForEver(dir)
	}
	os.Exit(m.Run())
}

func serveForEver(dir string) {
	s, err := Start(context.Background(), Config{Dir: dir, Settings: fast})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Pid(), s.URL())
	select {}
}

func TestServerEndsWhenItsParentIsKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pg")
	parent := exec.Command(must[string](t)(os.Executable()))
	parent.Env = append(os.Environ(), parentVariable+"="+dir)
	out := must[io.ReadCloser](t)(parent.StdoutPipe())
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = parent.Wait() }() // killed
	defer func() { _ = parent.Process.Kill() }()
	line := must[string](t)(bufio.NewReader(out).ReadString('\n'))
	var pid int
	var url string
	if _, err := fmt.Sscan(line, &pid, &url); err != nil {
		t.Fatalf("the parent said %q", line)
	}
	backend := connect(t, url)

	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := backend.Exec(patient(t), "SELECT pg_sleep(600)"); err == nil {
		t.Error("the backend lived on")
	}
	awaitEnd(t, pid)
	// Its folder is good for a next start, also at once.
	start(t, Config{Dir: dir, Settings: fast})
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
