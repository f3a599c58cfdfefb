package demo

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/selfregulating/sr/cli/demo/prose"
)

func TestFileIsARecordALine(t *testing.T) {
	got := records(t, "one two\n\nthree\r\n four \nlast")
	if want := []string{"one two", "", "three", " four ", "last"}; !slices.Equal(got, want) {
		t.Errorf("records are %q, want %q", got, want)
	}
}

func TestLongLineIsCutAtSpaces(t *testing.T) {
	words := strings.Repeat("word ", 3*longestPiece/5)
	got := records(t, "first\n"+words+"\nlast")
	if len(got) < 5 {
		t.Fatalf("%d records, want the long line in several", len(got))
	}
	for _, r := range got {
		if len(r) > 2*longestPiece || r != "" && strings.Trim(r, "word ") != "" && r != "first" && r != "last" {
			t.Errorf("a record of %d bytes: %.20q...", len(r), r)
		}
	}
	before, after := truthOf("first", words, "last"), truthOf(got...)
	if before.words != after.words || *before.counts["word"] != *after.counts["word"] {
		t.Errorf("%d words became %d", before.words, after.words)
	}
}

func TestWordThatNoRecordHoldsIsRefused(t *testing.T) {
	_, err := read(t, "fine\n"+strings.Repeat("x", longestPiece+1))
	var wrong *ArgumentError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("the error is %v, want an *ArgumentError that names line 2", err)
	}
}

func TestMadeTextIsAsLongAsAskedFor(t *testing.T) {
	m, err := openText(Config{Bytes: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	m.(*madeText).from = prose.New(1)
	all, err := drain(m)
	if err != nil {
		t.Fatal(err)
	}
	bytes := len(strings.Join(all, ""))
	if last := len(all[len(all)-1]); bytes < 10_000 || bytes-last >= 10_000 {
		t.Errorf("%d bytes, want 10000 and no sentence more", bytes)
	}
}

func records(t *testing.T, content string) []string {
	t.Helper()
	all, err := read(t, content)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, content string) ([]string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	lines, err := openText(Config{File: path})
	if err != nil {
		t.Fatal(err)
	}
	defer lines.close()
	return drain(lines)
}

func drain(from text) (all []string, err error) {
	for {
		record, err := from.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, string(record))
	}
}
