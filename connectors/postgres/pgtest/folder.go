package pgtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/selfregulating/sr/connectors/internal/local"
)

// claim makes a new folder that is ours for as long as this process lives, and removes those of processes that have
// ended. A lock file in each tells them apart: the kernel lets go of it at the end of its process.
func claim(ctx context.Context) (dir string, remove func(), err error) {
	temp, err := local.TempFolder()
	if err != nil {
		return "", nil, err
	}
	base := filepath.Join(temp, "pgtest")
	if err := os.MkdirAll(base, 0o711); err != nil {
		return "", nil, err
	}
	// Under one lock for all, since a folder cannot be made and locked at once.
	all, err := local.Lock(ctx, filepath.Join(base, "lock"))
	if err != nil {
		return "", nil, err
	}
	defer all.Close()
	sweep(base)
	if dir, err = os.MkdirTemp(base, "server-"); err != nil {
		return "", nil, err
	}
	held, err := local.TryLock(lockOf(dir))
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() { _ = errors.Join(os.RemoveAll(dir), held.Close()) }, nil
}

// sweep removes what it can. What it cannot, such as a folder whose server has not quite ended, is for the next one.
func sweep(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, "server-*"))
	for _, dir := range dirs {
		held, err := local.TryLock(lockOf(dir))
		if err != nil {
			continue
		}
		_ = errors.Join(os.RemoveAll(dir), held.Close())
	}
}

func lockOf(dir string) string { return filepath.Join(dir, "lock") }
