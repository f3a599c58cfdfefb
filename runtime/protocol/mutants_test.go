//go:build mutants

package protocol

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/selfregulating/sr/runtime/mutant"
)

// planted is a fault and where it must be noticed: by some rule's check, by exploring a setup, by
// walking in it, or by several of these. with names guards that would hide it from the explorer.
type planted struct {
	name  string
	rule  bool
	with  []string
	runs  []setup
	walks *setup
}

func explored(name string, s ...setup) planted { return planted{name: name, runs: s} }
func ruled(name string) planted                { return planted{name: name, rule: true} }

func (p planted) byRule() planted { p.rule = true; return p }
func (p planted) hidden(by ...string) planted {
	p.with = by
	return p
}

func pure(change func(*setup)) setup {
	return one("", func(s *setup) { s.pure = true; change(s) })
}

var (
	calm      = one("", func(s *setup) {})
	crash     = one("", func(s *setup) { s.faults.crash = 1 })
	fence     = pure(func(s *setup) { s.warm, s.faults.fence = true, 1 })
	move      = one("", func(s *setup) { s.faults.move = 1 })
	dup       = one("", func(s *setup) { s.faults.dup = 1 })
	unknown   = one("", func(s *setup) { s.faults.unknown = 1 })
	produce   = one("", func(s *setup) { s.faults.produce = 1 })
	moveCrash = pure(func(s *setup) { s.faults.move, s.faults.crash = 1, 1 })
	deep      = setup{records: 2, depth: 2}
	order     = setup{records: 2, depth: 1, lone: true, faults: budget{move: 1}}
	del       = one("", func(s *setup) { s.deletes, s.faults.crash = true, 1 })
	delFence  = pure(func(s *setup) { s.deletes, s.faults.fence = true, 1 })
	delDup    = pure(func(s *setup) { s.deletes, s.faults.crash, s.faults.dup = true, 1, 1 })
	restore   = pure(func(s *setup) { s.goesOn, s.warm, s.faults.restore = true, true, 2 })
	restProd  = pure(func(s *setup) { s.goesOn, s.warm, s.lone, s.faults.restore, s.faults.produce = true, true, true, 2, 1 })
	restFence = one("", func(s *setup) { s.goesOn, s.warm, s.lone, s.faults.restore, s.faults.fence = true, true, true, 2, 1 })
	wild      = walks[0]
)

var mutants = []planted{
	explored("commitBeforeAcks", crash),
	explored("useUndecided", calm),
	explored("resumePastPending", crash),
	explored("appliedNotHanded", move),
	explored("fenceKeepsWriter", crash).byRule(),
	explored("openByFenced", fence).byRule(),
	explored("gapAtReceive", deep),
	ruled("noGapCheck"), // Kafka loses no block in the explorer's world
	explored("duplicatesApplied", dup),
	explored("garbageHeld", crash),
	explored("unknownNoRefresh", calm),
	explored("unknownHeld", restore),
	ruled("blindToNewWriters"), // walks find it too, one in 100,000
	explored("reuseSeq", produce),
	explored("abandonKeepsWriter", produce).byRule(),
	explored("unknownKeepsWriter", unknown).byRule(),
	explored("reloadOnly", unknown).byRule(),
	explored("doneByTxID", unknown),
	explored("noClosedAssert", unknown).byRule(),
	ruled("noSeqAssert"),
	explored("noEpochAssert", unknown).byRule(),
	explored("noTxIDAssert", restore).byRule(),
	ruled("noOwnerAssert"), // matters when a restore repeats an epoch number; no walk has hit on that
	explored("noDecisionAssert", restore).byRule(),
	explored("noDropAssert", restFence).byRule(),
	explored("idleSilent", restore),
	explored("strayWriters", restProd),
	explored("offsetsBeforeClose", delFence).byRule(),
	explored("earlyDelete", del).byRule(),
	explored("pruneEarly", delDup).byRule(),
	explored("pruneKeepsView", delDup),
	planted{name: "pruneStaleView", walks: &wild}.hidden("noDecisionAssert"),
	{name: "takeoverKeepsView", walks: &wild},
	explored("pollOneWriter", order),
	explored("giveNoAssert", moveCrash).byRule(),
	explored("fenceForgetsNext", moveCrash).byRule(),
	explored("planToFenced", moveCrash).byRule(),
	ruled("assignToFenced"),
	ruled("fencedOwnerStays"),
	ruled("fenceToFenced"),
}

func TestEveryMutantIsFound(t *testing.T) {
	t.Cleanup(func() { mutant.Set() })
	for _, p := range mutants {
		t.Run(p.name, func(t *testing.T) {
			mutant.Set(p.name)
			if p.rule {
				if broken := brokenRule(); broken != "" {
					t.Logf("rule: %s", broken)
				} else {
					t.Error("every rule's check passes")
				}
			}
			mutant.Set(append(p.with, p.name)...)
			for _, s := range p.runs {
				r, found, _ := explore(s, 1_500_000)
				if found == nil {
					t.Errorf("not found in %d states of %+v", len(r.parent), s)
					continue
				}
				t.Logf("%s (%d states, %d steps)", found.property, len(r.parent), len(found.trace))
				if os.Getenv("SR_TRACE") != "" {
					t.Log(found)
				}
			}
			if p.walks != nil {
				walkUntilFound(t, *p.walks)
			}
		})
	}
}

func brokenRule() string {
	for _, r := range rules {
		if err := r.holds(); err != nil {
			return fmt.Sprintf("%s: %v", r.sentence, err)
		}
	}
	return ""
}

func walkUntilFound(t *testing.T, s setup) {
	var seen stroll
	for k := range uint64(100_000) {
		if found := seen.walk(s, 1, k); found != nil {
			t.Logf("%s (walk %d)", found.property, k)
			if os.Getenv("SR_TRACE") != "" {
				t.Log(found)
			}
			return
		}
	}
	t.Errorf("not found: %+v", seen)
}

// TestEveryHookHasATest reads the names of the hooks in this package's code and tests.
func TestEveryHookHasATest(t *testing.T) {
	hook := regexp.MustCompile(`mutant\.On\("(\w+)"\)`)
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range mutants {
		known[p.name] = false
	}
	for _, f := range files {
		text, err := os.ReadFile(f.Name())
		if errors.Is(err, os.ErrNotExist) || f.IsDir() {
			continue
		}
		for _, m := range hook.FindAllSubmatch(text, -1) {
			if _, ok := known[string(m[1])]; !ok {
				t.Errorf("%s: the hook %s is not among the mutants", f.Name(), m[1])
			}
			known[string(m[1])] = true
		}
	}
	for name, used := range known {
		if !used {
			t.Errorf("the mutant %s has no hook", name)
		}
	}
}
