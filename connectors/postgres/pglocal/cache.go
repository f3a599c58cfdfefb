package pglocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/selfregulating/sr/connectors/internal/local"
)

// stagingPrefix marks folders of the cache that are being filled; whoever holds the cache's lock may remove them.
const stagingPrefix = ".staging-"

// fetched returns the binaries of cfg.Version from the cache, and fills the cache first if they are not in it. One
// process fetches at a time, the others wait for it and then find the result.
func fetched(ctx context.Context, cfg Config, as *account) (Binaries, error) {
	artifact, err := platformArtifact()
	if err != nil {
		return Binaries{}, err
	}
	cache, err := openCache(cfg)
	if err != nil {
		return Binaries{}, err
	}
	if err := as.reach(cache); err != nil {
		return Binaries{}, err
	}
	home := filepath.Join(cache, cfg.Version)
	if found, err := inspect(ctx, filepath.Join(home, "bin"), as); err == nil {
		return found, nil
	}
	lock, err := local.Lock(ctx, filepath.Join(cache, "lock"))
	if err != nil {
		return Binaries{}, err
	}
	defer lock.Close()
	if _, err := os.Stat(home); errors.Is(err, os.ErrNotExist) {
		if err := fill(ctx, cfg, artifact, cache, home); err != nil {
			return Binaries{}, fmt.Errorf("fetching Postgres %s from %s: %w", cfg.Version, cfg.Repository, err)
		}
	}
	found, err := inspect(ctx, filepath.Join(home, "bin"), as)
	if errors.Is(err, errNoPostgres) {
		return Binaries{}, fmt.Errorf("%s holds no Postgres: remove that folder", home)
	}
	return found, err
}

// fill makes home appear whole or not at all: everything happens in a staging folder, which is renamed last.
func fill(ctx context.Context, cfg Config, artifact, cache, home string) error {
	stale, _ := filepath.Glob(filepath.Join(cache, stagingPrefix+"*"))
	for _, dir := range stale {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	staging, err := os.MkdirTemp(cache, stagingPrefix)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }() // what stays is swept by the next fetch

	jar := filepath.Join(staging, "binaries.jar")
	if err := download(ctx, cfg, artifact, jar); err != nil {
		return err
	}
	unpacked := filepath.Join(staging, "unpacked")
	if err := extract(jar, unpacked); err != nil {
		return fmt.Errorf("unpacking %s: %w", artifact, err)
	}
	return os.Rename(unpacked, home)
}

// openCache returns the first folder that can be written, readable by every user.
func openCache(cfg Config) (string, error) {
	if cfg.CacheDir != "" {
		return cfg.CacheDir, makeReadable(cfg.CacheDir)
	}
	if preferred := preferredCache(); preferred != "" && makeReadable(preferred) == nil {
		return preferred, nil
	}
	temp, err := local.TempFolder()
	if err != nil {
		return "", fmt.Errorf("making a cache folder for Postgres: %w", err)
	}
	dir := filepath.Join(temp, "postgres")
	return dir, makeReadable(dir)
}

// preferredCache is the cache by custom. Root's own cache folder is closed to the server's user.
func preferredCache() string {
	if os.Geteuid() == 0 {
		return "/var/cache/sr/postgres"
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "sr", "postgres")
}

// makeReadable makes dir, and opens to all whatever it had to make, also under a strict umask. It proves that dir can
// be written.
func makeReadable(dir string) error {
	if err := mkdirAll(dir, 0o755); err != nil {
		return err
	}
	probe, err := os.MkdirTemp(dir, ".probe-")
	if err != nil {
		return err
	}
	return os.Remove(probe)
}

// mkdirAll is os.MkdirAll whose new folders get exactly mode, whatever the umask.
func mkdirAll(dir string, mode os.FileMode) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := mkdirAll(parent, mode); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, mode); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		return err
	}
	return os.Chmod(dir, mode)
}
