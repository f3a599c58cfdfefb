package protocol

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// one record in each source partition; variations follow.
func one(name string, change func(*setup)) setup {
	s := setup{name: name, records: 1, depth: 1}
	change(&s)
	return s
}

// The exhaustive runs, small ones first: one fault each, every interleaving. Together they have
// fewer than 700,000 states.
var exhaustive = []setup{
	one("no fault, impure", func(s *setup) {}),
	one("no exchange, a crash, a move, an unknown outcome", func(s *setup) {
		s.direct, s.busy, s.faults = true, true, budget{crash: 1, move: 1, unknown: 1}
	}),
	one("overlap, several buckets a commit", func(s *setup) { s.overlap, s.multi = true, true }),
	one("duplicate append, impure", func(s *setup) { s.faults.dup = 1 }),
	one("two stages, pure", func(s *setup) { s.two, s.pure = true, true }),
	one("two stages, unknown outcome, one record, pure", func(s *setup) { s.two, s.lone, s.pure, s.faults.unknown = true, true, true, 1 }),
	one("crash, impure", func(s *setup) { s.faults.crash = 1 }),
	one("new incarnation, pure", func(s *setup) { s.pure, s.warm, s.faults.register = true, true, 1 }),
	one("restore while processes live on, pure", func(s *setup) { s.pure, s.warm, s.goesOn, s.faults.restore = true, true, true, 2 }),
	one("fence of a living container, pure", func(s *setup) { s.pure, s.warm, s.faults.fence = true, true, 1 }),
	one("failed produce, impure", func(s *setup) { s.faults.produce = 1 }),
	one("planned move under a batch, impure", func(s *setup) { s.busy, s.faults.move = true, 1 }),
	one("unknown outcome, impure", func(s *setup) { s.faults.unknown = 1 }),
	one("crash and deletion of writers, impure", func(s *setup) { s.deletes, s.faults.crash = true, 1 }),
}

// More exhaustive runs, a minute of them, with SR_EXPLORE_FULL=1.
var exhaustiveFull = []setup{
	one("two unknown outcomes, a crash, a move, no exchange", func(s *setup) {
		s.direct, s.busy, s.depth, s.faults = true, true, 2, budget{crash: 1, move: 1, unknown: 2}
	}),
	one("fence of a living container, impure", func(s *setup) { s.warm, s.faults.fence = true, 1 }),
	one("overlap and unknown outcome, pure", func(s *setup) { s.pure, s.warm, s.overlap, s.faults.unknown = true, true, true, 1 }),
	one("overlap, several buckets a commit, a move", func(s *setup) {
		s.pure, s.warm, s.overlap, s.multi, s.busy, s.faults.move = true, true, true, true, true, 1
	}),
	one("two stages, crash, pure", func(s *setup) { s.two, s.pure, s.faults.crash = true, true, 1 }),
	one("two stages, unknown outcome, pure", func(s *setup) { s.two, s.pure, s.warm, s.faults.unknown = true, true, true, 1 }),
	one("two stages, unknown outcome, one record", func(s *setup) { s.two, s.lone, s.faults.unknown = true, true, 1 }),
	one("two stages, move, one record", func(s *setup) { s.two, s.lone, s.busy, s.faults.move = true, true, true, 1 }),
	one("two stages, fence, one record, pure", func(s *setup) { s.two, s.lone, s.pure, s.faults.fence = true, true, true, 1 }),
	one("planned restore, one record, pure", func(s *setup) { s.lone, s.pure, s.faults.restore = true, true, 2 }),
	one("new incarnation and crash, one record", func(s *setup) { s.lone, s.faults = true, budget{crash: 1, register: 1} }),
	one("fence and unknown outcome, one record, pure", func(s *setup) {
		s.lone, s.pure, s.faults = true, true, budget{fence: 1, unknown: 1}
	}),
	one("restore while processes live on, impure", func(s *setup) { s.warm, s.goesOn, s.faults.restore = true, true, 2 }),
	one("new incarnation, impure", func(s *setup) { s.warm, s.faults.register = true, 1 }),
}

func TestEveryInterleavingOfOneFaultKeepsThePromises(t *testing.T) {
	runs := exhaustive
	switch {
	case testing.Short():
		runs = runs[:6]
	case raceEnabled:
		runs = runs[:8]
	case os.Getenv("SR_EXPLORE_FULL") != "":
		runs = append(runs, exhaustiveFull...)
	}
	for _, s := range runs {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			r, found, full := explore(s, 2_000_000)
			t.Logf("states %d, edges %d, quiescent %d, %s", len(r.parent), r.edges, r.quiet, time.Since(start).Round(time.Millisecond))
			if found != nil {
				t.Fatal(found)
			}
			if !full || r.cut > 0 || r.quiet == 0 {
				t.Fatalf("not explored to the end: all states %v, cut %d, quiescent %d", full, r.cut, r.quiet)
			}
		})
	}
}

var everything = budget{crash: 1, fence: 1, move: 2, dup: 2, unknown: 2, produce: 1, register: 1}

// The walks go beyond the bounds of the exhaustive runs.
var walks = []setup{
	{name: "two records, depth 2", records: 2, depth: 2, busy: true, deletes: true, faults: everything},
	{name: "two records, depth 2, overlap", records: 2, depth: 2, busy: true, deletes: true, overlap: true, multi: true, faults: everything},
	{name: "two stages", records: 2, depth: 2, busy: true, deletes: true, two: true, faults: everything},
	{name: "two stages, overlap", records: 1, depth: 2, busy: true, deletes: true, two: true, overlap: true, multi: true, faults: everything},
	{name: "planned restore", records: 2, depth: 2, busy: true, deletes: true, faults: restored(everything)},
	{name: "restore while processes live on", records: 2, depth: 2, busy: true, deletes: true, overlap: true, goesOn: true, faults: restored(everything)},
	{name: "two stages, restore while processes live on", records: 2, depth: 2, busy: true, deletes: true, two: true, goesOn: true, faults: restored(everything)},
	{name: "no exchange", records: 3, depth: 2, busy: true, direct: true, faults: everything},
}

func restored(b budget) budget {
	b.restore = 2
	return b
}

// TestRandomWalksBeyondTheBounds takes SR_EXPLORE_WALKS walks of each kind, or walks for
// SR_EXPLORE_SECONDS each; SR_EXPLORE_SEED makes a run again.
func TestRandomWalksBeyondTheBounds(t *testing.T) {
	count := uint64(60)
	if testing.Short() || raceEnabled {
		count = 10
	}
	seed, seconds := uint64(1), setting(t, "SR_EXPLORE_SECONDS", 0)
	if os.Getenv("SR_EXPLORE_WALKS") != "" || seconds > 0 {
		seed = uint64(time.Now().UnixNano())
		count = setting(t, "SR_EXPLORE_WALKS", 1<<62)
	}
	seed = setting(t, "SR_EXPLORE_SEED", seed)
	for _, s := range walks {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var seen stroll
			start := time.Now()
			for k := uint64(0); k < count && (seconds == 0 || time.Since(start) < time.Duration(seconds)*time.Second); k++ {
				if found := seen.walk(s, seed, k); found != nil {
					t.Fatalf("SR_EXPLORE_SEED=%d, walk %d: %s", seed, k, found)
				}
			}
			t.Logf("SR_EXPLORE_SEED=%d: %+v", seed, seen)
			if seen.quiet == 0 {
				t.Error("no walk ended in quiescence")
			}
		})
	}
}

func setting(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s must be a number: %v", name, err)
	}
	return n
}
