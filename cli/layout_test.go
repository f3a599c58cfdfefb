package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/selfregulating/sr"

// layer is a package with all below it, and what it may import of ours. Each may import itself.
type layer struct {
	path string
	uses []string
}

// layers is the order of the packages: each uses only what stands above it.
var layers = []layer{
	{path: "migrations"},
	{path: "runtime", uses: []string{"runtime"}},
	{path: "runtime/worker", uses: []string{"runtime"}},
	{path: "connectors", uses: []string{"runtime", "migrations"}},
	{path: "policies", uses: []string{"runtime"}},
	{path: "controlplane", uses: []string{"runtime", "runtime/worker", "connectors", "migrations", "policies"}},
	{path: "cli", uses: []string{
		"runtime", "runtime/worker", "connectors", "migrations", "policies", "controlplane", "examples",
	}},
	{path: "examples", uses: []string{"runtime", "runtime/worker", "connectors", "cli"}},
}

// pkg is a package as go list tells it; test files may import what they like.
type pkg struct {
	ImportPath string
	Imports    []string
}

func TestPackagesImportOnlyWhatStandsAboveThem(t *testing.T) {
	all := listPackages(t)
	if len(all) == 0 {
		t.Fatal("go list names no package")
	}
	for _, p := range all {
		for _, wrong := range violations(p) {
			t.Error(wrong)
		}
	}
}

func TestViolationsOfTheLayoutAreFound(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"runtime", "runtime/state", false}, // the vocabulary imports nothing of ours
		{"runtime", "connectors/memory", false},
		{"runtime/state", "runtime", true},
		{"runtime/state", "runtime/exchange", true},
		{"runtime/state", "runtime/worker", false},
		{"runtime/worker", "runtime/state", true},
		{"runtime/worker", "connectors/memory", false},
		{"connectors/kafka", "runtime", true},
		{"connectors/postgres", "migrations", true},
		{"connectors/kafka", "runtime/worker", false},
		{"connectors/kafka", "controlplane", false},
		{"policies", "runtime/vitals", true},
		{"policies", "connectors/kafka", false},
		{"controlplane/health", "policies", true},
		{"controlplane/health", "cli", false},
		{"migrations", "runtime", false},
		{"cli/sr", "cli", true},
		{"cli", "controlplane/store", true},
		{"cli", "runtime/worker", true},
		{"cli", "runtimes", false}, // no layer of ours
	} {
		found := violations(pkg{ImportPath: module + "/" + c.from, Imports: []string{module + "/" + c.to, "fmt"}})
		if allowed := len(found) == 0; allowed != c.allowed {
			t.Errorf("%s imports %s: allowed %t, want %t", c.from, c.to, allowed, c.allowed)
		}
	}
	if len(violations(pkg{ImportPath: module + "/attic"})) == 0 {
		t.Error("a package without a layer passes")
	}
}

// violations tells, in a sentence each, which imports of p go the wrong way.
func violations(p pkg) (wrong []string) {
	from := strings.TrimPrefix(p.ImportPath, module+"/")
	own, ok := layerOf(from)
	if !ok {
		return []string{from + " belongs to no layer: give it one in layout_test.go"}
	}
	for _, imported := range p.Imports {
		to, ours := strings.CutPrefix(imported, module+"/")
		if ours && !own.mayImport(from, to) {
			wrong = append(wrong, fmt.Sprintf("%s imports %s, which does not stand above it", from, to))
		}
	}
	return wrong
}

func (l layer) mayImport(from, to string) bool {
	target, ok := layerOf(to)
	if !ok || from == "runtime" {
		return false
	}
	return target.path == l.path || slices.Contains(l.uses, target.path)
}

// layerOf answers the layer with the longest path that holds p.
func layerOf(p string) (found layer, ok bool) {
	for _, l := range layers {
		if (p == l.path || strings.HasPrefix(p, l.path+"/")) && len(l.path) > len(found.path) {
			found, ok = l, true
		}
	}
	return found, ok
}

func listPackages(t *testing.T) (all []pkg) {
	t.Helper()
	var complaints bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", module+"/...")
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing the packages: %v\n%s", err, complaints.String())
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
