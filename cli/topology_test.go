package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/selfregulating/sr/cli"
)

// The problems themselves belong to package topology, which has a file for each kind.
func TestEveryKindOfBadTopologyIsToldWithItsPlace(t *testing.T) {
	files, err := filepath.Glob("../runtime/topology/testdata/bad_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no bad topology: %v", err)
	}
	t.Chdir(filepath.Dir(files[0]))
	for _, file := range files {
		name := filepath.Base(file)
		want, err := os.ReadFile(strings.TrimSuffix(name, ".yaml") + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := run(t, "plan", "-f", name)
		if code != 2 || stdout != "" || stderr != string(want) {
			t.Errorf("plan of %s ends with %d and says\n%s%s\nwant 2 and\n%s", name, code, stdout, stderr, want)
		}
	}
}

// run calls sr in this process.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, conversation bytes.Buffer
	code = cli.Main(t.Context(), append([]string{"sr"}, args...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &conversation})
	return code, out.String(), conversation.String()
}
