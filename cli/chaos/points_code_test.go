//go:build kafka

package chaos

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The suite knows every point that the code has, and no other.
func TestChaosShortKnowsEveryCrashPoint(t *testing.T) {
	var inCode, known []string
	hook := regexp.MustCompile(`crash\.Point\("([a-z-]+)"\)`)
	err := filepath.WalkDir(filepath.Join("..", "..", "runtime"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range hook.FindAllStringSubmatch(string(text), -1) {
			inCode = append(inCode, found[1])
		}
		return err
	})
	must(t, err)
	for _, p := range points {
		known = append(known, p.name)
	}
	slices.Sort(inCode)
	slices.Sort(known)
	if inCode = slices.Compact(inCode); !slices.Equal(inCode, known) {
		t.Errorf("the code has the points\n%v\nand the suite\n%v", inCode, known)
	}
}
