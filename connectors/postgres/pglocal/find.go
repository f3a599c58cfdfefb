package pglocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
)

// usualFolders are the patterns of where distributions and installers put Postgres, the folder above bin/postgres.
var usualFolders = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/usr/libexec/postgresql*",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// Find returns a Postgres of version 15 or newer: from PATH, else the newest of the usual folders, else fetched into
// the cache, now or earlier. The error names what was looked at, and what to do.
func Find(ctx context.Context, cfg Config) (Binaries, error) {
	return find(ctx, cfg.withDefaults(), usualFolders)
}

func find(ctx context.Context, cfg Config, usual []string) (Binaries, error) {
	if runtime.GOOS == "windows" {
		return Binaries{}, fmt.Errorf("running a local Postgres on %s: %w: give the URL of a server instead", runtime.GOOS, errors.ErrUnsupported)
	}
	as, err := serverAccount()
	if err != nil {
		return Binaries{}, err
	}
	var unfit []error
	for _, dir := range candidates(os.Getenv("PATH"), usual) {
		found, err := inspect(ctx, dir, as)
		if err == nil {
			return found, nil
		}
		if !errors.Is(err, errNoPostgres) && !said(unfit, err) {
			unfit = append(unfit, err)
		}
	}
	fetched, err := fetched(ctx, cfg, as)
	if err != nil {
		return Binaries{}, fmt.Errorf("finding Postgres %d or newer: %w: install PostgreSQL by your system's packages, or set %s to a Maven repository that can be reached",
			minMajor, errors.Join(append(unfit, err)...), RepositoryVariable)
	}
	return fetched, nil
}

// said tells whether the same folder was reached before by another name.
func said(errs []error, err error) bool {
	return slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() })
}

// candidates are the folders to look into, in order.
func candidates(path string, usual []string) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, pattern := range usual {
		// The one error is a bad pattern, and ours are constants.
		matches, _ := filepath.Glob(pattern)
		slices.SortStableFunc(matches, func(a, b string) int { return slices.Compare(numbers(b), numbers(a)) })
		dirs = append(dirs, matches...)
	}
	return dirs
}

// numbers are the numbers in a path, so that 9 sorts before 16.
func numbers(path string) []int {
	var all []int
	for field := range strings.FieldsFuncSeq(path, func(r rune) bool { return !unicode.IsDigit(r) }) {
		n := 0
		for _, digit := range field {
			n = n*10 + int(digit-'0')
		}
		all = append(all, n)
	}
	return all
}
