//go:build chaos

package crash

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// plan is what the environment asks for: a signal when the point is reached for the n-th time.
type plan struct {
	point  string
	n      int64
	signal syscall.Signal
	word   string
	hits   atomic.Int64
}

var plans = []*plan{
	read("SR_CRASH_AT", syscall.SIGKILL, "crash"),
	read("SR_STOP_AT", syscall.SIGSTOP, "stop"),
}

func read(variable string, signal syscall.Signal, word string) *plan {
	name, n, counted := strings.Cut(os.Getenv(variable), ":")
	p := &plan{point: name, n: 1, signal: signal, word: word}
	if counted {
		var err error
		if p.n, err = strconv.ParseInt(n, 10, 64); err != nil {
			panic(variable + ": " + err.Error())
		}
	}
	return p
}

// Point kills or stops the process if the environment asks for it here.
func Point(name string) {
	for _, p := range plans {
		if name == p.point && p.hits.Add(1) == p.n {
			p.strike()
		}
	}
}

func (p *plan) strike() {
	fmt.Fprintf(os.Stderr, "%s point %s reached\n", p.word, p.point)
	_ = syscall.Kill(os.Getpid(), p.signal)
	// Another thread may be the one that takes the signal: nothing is done here until it has.
	time.Sleep(100 * time.Millisecond)
}
