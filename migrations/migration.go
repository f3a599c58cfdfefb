package migrations

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

//go:embed *.sql
var files embed.FS

// migration is one numbered pair of files.
type migration struct {
	version  int
	name     string
	up, down string
}

// load reads the pairs in the order of their numbers, which have to be 1, 2, 3 and so on.
func load(dir fs.FS) ([]migration, error) {
	names, err := fs.Glob(dir, "*.up.sql")
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, file := range names {
		m, err := loadPair(dir, strings.TrimSuffix(file, ".up.sql"))
		if err != nil {
			return nil, fmt.Errorf("reading migration %s: %w", file, err)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b migration) int { return cmp.Compare(a.version, b.version) })
	for i, m := range all {
		if m.version != i+1 {
			return nil, fmt.Errorf("migration %04d_%s has the place of number %d", m.version, m.name, i+1)
		}
	}
	return all, nil
}

func loadPair(dir fs.FS, base string) (m migration, err error) {
	number, name, _ := strings.Cut(base, "_")
	if m.version, err = strconv.Atoi(number); err != nil {
		return m, err
	}
	m.name = name
	if m.up, err = read(dir, base+".up.sql"); err != nil {
		return m, err
	}
	m.down, err = read(dir, base+".down.sql")
	return m, err
}

func read(dir fs.FS, file string) (string, error) {
	text, err := fs.ReadFile(dir, file)
	return string(text), err
}
