package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/selfregulating/sr/connectors/kafka/kafkatest"
)

const stopTimeout = 30 * time.Second

// started is what up leaves behind for down.
type started struct {
	PID  int    `json:"pid"`
	Addr string `json:"addr"`
}

func home() string      { return filepath.Join(".cache", "kafka") }
func stateFile() string { return filepath.Join(home(), "started.json") }

func up(ctx context.Context) error {
	s, err := read()
	if err != nil {
		return err
	}
	if s.alive() {
		fmt.Println(s.Addr)
		return nil
	}
	if err := os.RemoveAll(home()); err != nil {
		return err
	}
	b, err := kafkatest.Start(ctx, kafkatest.Config{Dir: home(), Detached: true, Log: os.Stderr})
	if err != nil {
		return err
	}
	s = started{PID: b.PID(), Addr: b.Addr()}
	if err := s.write(); err != nil {
		return errors.Join(err, b.Stop())
	}
	fmt.Println(s.Addr)
	return nil
}

func down() error {
	s, err := read()
	if err != nil {
		return err
	}
	if !s.alive() {
		fmt.Fprintln(os.Stderr, "no broker of this folder is running")
	} else if err := s.stop(); err != nil {
		return fmt.Errorf("stopping the broker (process %d): %w", s.PID, err)
	}
	return os.RemoveAll(home())
}

// read answers what up wrote; nothing written is the zero value.
func read() (s started, err error) {
	text, err := os.ReadFile(stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("reading %s: %w", stateFile(), err)
	}
	return s, nil
}

func (s started) write() error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(stateFile(), append(text, '\n'), 0o644)
}

// alive tells whether the process is still the broker of this folder: after a reboot the number
// may belong to anyone, and one that nobody waited for keeps its number when it has ended.
func (s started) alive() bool {
	if s.PID == 0 {
		return false
	}
	dir, err := filepath.Abs(home())
	return err == nil && strings.Contains(arguments(s.PID), dir)
}

// arguments answers the command line of a process, or nothing if it has ended.
func arguments(pid int) string {
	if _, err := os.Stat("/proc/self/cmdline"); err == nil {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return string(line)
	}
	line, _ := exec.Command("ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	return string(line)
}

func (s started) stop() error {
	if err := syscall.Kill(s.PID, syscall.SIGTERM); err != nil {
		return err
	}
	deadline := time.Now().Add(stopTimeout)
	for s.alive() {
		if time.Now().After(deadline) {
			return syscall.Kill(s.PID, syscall.SIGKILL)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}
