package demo

import (
	"fmt"
	"os"
	"path/filepath"
)

// folder is where both servers keep their data.
type folder struct {
	dir       string
	temporary bool
}

// openFolder makes the folder to keep, or one for this run alone.
func openFolder(keep string) (folder, error) {
	if keep == "" {
		dir, err := os.MkdirTemp("", "sr-demo-")
		if err != nil {
			return folder{}, fmt.Errorf("making a folder for the demo: %w", err)
		}
		return folder{dir, true}, nil
	}
	dir, err := filepath.Abs(keep)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return folder{}, wrongArgument("the folder %s cannot be used: %w", keep, err)
	}
	f := folder{dir: dir}
	return f, f.refuseForeign()
}

// refuseForeign keeps the demo from strewing its folders among somebody's files.
func (f folder) refuseForeign() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return wrongArgument("the folder %s cannot be used: %w", f.dir, err)
	}
	for _, e := range entries {
		if path := filepath.Join(f.dir, e.Name()); path != f.kafka() && path != f.postgres() {
			return wrongArgument("the folder %s holds %s, which is not of a demo: name a new folder, or that of an earlier demo", f.dir, e.Name())
		}
	}
	return nil
}

func (f folder) kafka() string    { return filepath.Join(f.dir, "kafka") }
func (f folder) postgres() string { return filepath.Join(f.dir, "postgres") }

// remove removes what is not to be kept.
func (f folder) remove() error {
	if !f.temporary {
		return nil
	}
	if err := os.RemoveAll(f.dir); err != nil {
		return fmt.Errorf("removing the folder of the demo: %w", err)
	}
	return nil
}
