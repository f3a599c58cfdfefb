package bench

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ownCPU is the processor time of this process.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// tick is the unit of /proc/PID/stat on Linux.
const tick = 10 * time.Millisecond

// usage is what the processes of one name have used.
type usage struct {
	cpu  time.Duration
	peak int64 // bytes of resident memory at its peak, the largest process
}

// processUsage reads what a process and, if children is set, those below it have used. ok is false where
// /proc does not tell.
func processUsage(pid int, children bool) (u usage, ok bool) {
	u.cpu, ok = processCPU(pid)
	u.peak = peakMemory(pid)
	if !children {
		return u, ok
	}
	for _, child := range childrenOf(pid) {
		if c, alive := processCPU(child); alive {
			u.cpu += c
			u.peak = max(u.peak, peakMemory(child))
		}
	}
	return u, ok
}

func processCPU(pid int) (time.Duration, bool) {
	fields := statFields(pid)
	if len(fields) < 15 {
		return 0, false
	}
	var ticks int64
	for _, f := range fields[11:15] { // utime, stime, and those of children that have ended
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, false
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, true
}

// statFields are the fields of /proc/PID/stat behind the name, which may hold spaces.
func statFields(pid int) []string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
}

func childrenOf(pid int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []int
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if f := statFields(child); len(f) > 1 && f[1] == strconv.Itoa(pid) {
			list = append(list, child)
		}
	}
	return list
}

// peakMemory is VmHWM, 0 where it is not told.
func peakMemory(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}
