//go:build chaos

package crash

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var (
	target, left = parse(os.Getenv("SR_CRASH_AT"))
	hits         atomic.Int64
)

func parse(s string) (string, int64) {
	name, n, ok := strings.Cut(s, ":")
	if !ok {
		return name, 1
	}
	count, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		panic("SR_CRASH_AT: " + err.Error())
	}
	return name, count
}

// Point kills the process if the environment asks for it here.
func Point(name string) {
	if name != target || hits.Add(1) != left {
		return
	}
	fmt.Fprintf(os.Stderr, "crash point %s reached\n", name)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
