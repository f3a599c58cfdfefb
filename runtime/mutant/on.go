//go:build mutants

package mutant

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
)

var planted atomic.Pointer[[]string]

func init() { Set(strings.Split(os.Getenv("SR_MUTANT"), ",")...) }

// Set plants the named faults and takes all others out.
func Set(names ...string) {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	planted.Store(&names)
}

// On tells whether the named fault is planted.
func On(name string) bool { return slices.Contains(*planted.Load(), name) }
