package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// node is the topology running as its own process, seen from outside: by /metrics and /proc.
type node struct {
	cmd     *exec.Cmd
	metrics string
	ended   chan error
	done    chan struct{} // closed once it has ended
}

func startNode(c *Config, s *servers, untilCaughtUp bool) (*node, error) {
	file := filepath.Join(c.Dir, "topology.yaml")
	if err := os.WriteFile(file, []byte(c.topology()), 0o644); err != nil {
		return nil, fmt.Errorf("writing the topology: %w", err)
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	args := []string{"run", "-f", file, "--metrics", address}
	if untilCaughtUp {
		args = append(args, "--until-caught-up")
	}
	n := &node{cmd: exec.Command(c.Program, args...), metrics: "http://" + address + "/metrics", ended: make(chan error, 1), done: make(chan struct{})}
	n.cmd.Env = append(os.Environ(), "SR_KAFKA="+strings.Join(s.kafka, ","), "SR_POSTGRES="+s.postgres)
	n.cmd.Stdout, n.cmd.Stderr = c.Log, c.Log
	if err := n.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting sr run: %w", err)
	}
	go func() {
		n.ended <- n.cmd.Wait()
		close(n.done)
	}()
	return n, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// stop drains the node.
func (n *node) stop() error {
	_ = n.cmd.Process.Signal(os.Interrupt)
	select {
	case err := <-n.ended:
		return err
	case <-time.After(30 * time.Second):
		_ = n.cmd.Process.Kill()
		return fmt.Errorf("sr run did not drain within 30 s")
	}
}

// kill ends the node at once, if it has not ended.
func (n *node) kill() {
	if n.cmd.Process.Kill() == nil {
		<-n.done
	}
}

func (n *node) pid() int { return n.cmd.Process.Pid }

// reading is what /metrics said at one moment.
type reading struct {
	at        time.Time
	records   int64
	positions map[int32]int64
}

var metricLine = regexp.MustCompile(`^(\w+)\{([^}]*)\} (\S+)$`)

// read scrapes the node; ok is false while it does not answer.
func (n *node) read(ctx context.Context) (r reading, ok bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.metrics, nil)
	if err != nil {
		return r, false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return r, false
	}
	defer res.Body.Close()
	r = reading{at: time.Now(), positions: map[int32]int64{}}
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		m := metricLine.FindStringSubmatch(lines.Text())
		if m == nil || !strings.Contains(m[2], `operator="sentences"`) {
			continue
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			continue
		}
		switch m[1] {
		case "sr_records_total":
			r.records += int64(value)
		case "sr_position":
			if p, err := strconv.Atoi(label(m[2], "partition")); err == nil {
				r.positions[int32(p)] = int64(value)
			}
		}
	}
	return r, true
}

func label(labels, name string) string {
	_, rest, ok := strings.Cut(labels, name+`="`)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
