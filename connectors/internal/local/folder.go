package local

import (
	"fmt"
	"os"
	"path/filepath"
)

// TempFolder returns this user's own folder below the temporary folder, which it creates. Others may pass through it
// (a server that runs without our rights must), but neither list nor change it.
func TempFolder() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("sr-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o711); err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("making our temporary folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("looking at our temporary folder: %w", err)
	}
	// The name can be guessed, so somebody else may have made the folder first.
	if !info.IsDir() || !ours(info) {
		return "", fmt.Errorf("the folder %s belongs to somebody else: remove it, or set TMPDIR to another folder", dir)
	}
	return dir, os.Chmod(dir, 0o711)
}
