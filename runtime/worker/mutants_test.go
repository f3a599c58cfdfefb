//go:build mutants

package worker

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutants are the faults that this package has hooks for, each with the test that must notice it.
var mutants = map[string]string{
	"progressBeforeOutput":      "TestKindsDecideWhatHappensBetweenOutputAndProgress",
	"blindRetryOfUnknownCommit": "TestAnUnknownOutcomeIsNeverRetriedBlindly",
	"replayToNow":               "TestAReplayHoldsExactlyWhatWasRecorded",
	"strayWritersLeft":          "TestAHeartbeatClosesAWriterThatNobodyUses",
	"closeOffsetsBeforeClose":   "TestCloseOffsetsAreListedOnlyAfterTheClose",
	"idleSilent":                "TestAnIdleOwnerNoticesThatItsEpochIsLost",
}

// TestEveryMutantIsFound runs this very binary again: a failing test fails all that is above it.
func TestEveryMutantIsFound(t *testing.T) {
	for mutant, test := range mutants {
		t.Run(mutant, func(t *testing.T) {
			run := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.timeout=1m")
			run.Env = append(os.Environ(), "SR_MUTANT="+mutant)
			out, err := run.CombinedOutput()
			var failed *exec.ExitError
			if !errors.As(err, &failed) || !strings.Contains(string(out), "--- FAIL: "+test) {
				t.Errorf("%s does not notice it (%v):\n%s", test, err, out)
			}
		})
	}
}

func TestEveryHookHasATest(t *testing.T) {
	hook := regexp.MustCompile(`mutant\.On\("(\w+)"\)`)
	used := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range hook.FindAllSubmatch(text, -1) {
			name := string(m[1])
			if used[name] = true; mutants[name] == "" {
				t.Errorf("%s: the hook %s is not among the mutants", f, name)
			}
		}
	}
	for name := range mutants {
		if !used[name] {
			t.Errorf("the mutant %s has no hook", name)
		}
	}
}
