//go:build unix

package pglocal

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("what root does is tested when the tests run as root")
	}
}

func owner(t *testing.T, path string) int {
	t.Helper()
	return int(must[os.FileInfo](t)(os.Stat(path)).Sys().(*syscall.Stat_t).Uid)
}

func TestRootGivesPostgresToAnotherUser(t *testing.T) {
	asRoot(t)
	cfg := config(t)
	s := start(t, cfg)
	as := must[*account](t)(serverAccount())
	for _, path := range []string{cfg.dataDir(), filepath.Join(cfg.dataDir(), "postmaster.pid"), cfg.passwordFile()} {
		if got := owner(t, path); got != int(as.uid) || got == 0 {
			t.Errorf("%s belongs to user %d, want %d", path, got, as.uid)
		}
	}
	execute(t, s, "CREATE TABLE made(n int)")
	if got := ask(t, s, "SELECT pg_read_file('/proc/self/status')"); !strings.Contains(got, "\nGroups:\t \n") {
		t.Errorf("the server has kept groups:\n%s", got)
	}
}

func TestRootServesAClusterAsTheUserWhoOwnsIt(t *testing.T) {
	asRoot(t)
	cfg := config(t)
	start(t, cfg).Kill()
	const other = 54321
	err := filepath.WalkDir(cfg.Dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || path == cfg.Dir {
			return err
		}
		return os.Lchown(path, other, other)
	})
	if err != nil {
		t.Fatal(err)
	}
	start(t, cfg)
	if got := owner(t, filepath.Join(cfg.dataDir(), "postmaster.pid")); got != other {
		t.Errorf("served by user %d", got)
	}
}

func TestRootDoesNotOpenAClosedFolderOfTheUsers(t *testing.T) {
	asRoot(t)
	closed := must[string](t)(os.MkdirTemp("/var", "sr-closed-"))
	t.Cleanup(func() { _ = os.RemoveAll(closed) })
	cfg := config(t)
	cfg.Dir = filepath.Join(closed, "pg")
	_, err := Start(patient(t), cfg)
	if err == nil || !strings.Contains(err.Error(), "cannot pass through "+closed) {
		t.Errorf("got %v", err)
	}
	if info := must[os.FileInfo](t)(os.Stat(closed)); info.Mode().Perm() != 0o700 {
		t.Errorf("its mode is now %o", info.Mode().Perm())
	}
}
