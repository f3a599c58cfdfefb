package topology

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// Each testdata/*.yaml has a transcript beside it: the plan, or everything that is wrong.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts: ", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			transcript := strings.TrimSuffix(file, ".yaml") + ".txt"
			got := tell(t, filepath.Base(file), text)
			if *update {
				if err := os.WriteFile(transcript, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(transcript)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func tell(t *testing.T, name string, text []byte) string {
	t.Helper()
	plan, err := Parse(name, text)
	var problems Problems
	switch {
	case err == nil:
		told, err := json.MarshalIndent(plan.Describe(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return string(told) + "\n"
	case !errors.As(err, &problems):
		t.Fatalf("the error is a %T", err)
	}
	return err.Error() + "\n"
}

func TestFileThatIsTooLargeOrEmptyIsRefused(t *testing.T) {
	for _, text := range [][]byte{nil, []byte("\n# nothing\n"), make([]byte, maxFile+1), []byte("null"), []byte("[1]"), []byte("{}")} {
		if _, err := Parse("x.yaml", text); err == nil {
			t.Errorf("%.20q was taken", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("a: &a [*a, *a]"))
	f.Add([]byte(strings.Repeat("[", 5000)))
	f.Add([]byte("topology: x\nspouts: {s: {topic: t}}\noperators: {o: {from: s, filter: '" + strings.Repeat("(", 4000) + "'}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		plan, err := Parse("fuzz.yaml", text)
		if err == nil {
			plan.Describe()
		}
	})
}
