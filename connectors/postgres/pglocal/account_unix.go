//go:build unix

package pglocal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// account is the user who runs Postgres in the place of root. A nil account is the user of this process.
type account struct {
	name     string
	uid, gid uint32
}

// serverAccount is nil unless this process is root: then it is the user postgres, who exists where Postgres is
// installed, else nobody.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if found, err := user.Lookup(name); err == nil {
			return newAccount(found)
		}
	}
	return nil, errors.New("a Postgres server must not run as root, and there is neither a user postgres nor nobody: add one, or run as another user")
}

func newAccount(found *user.User) (*account, error) {
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("reading the id of user %s: %w", found.Username, err)
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("reading the group of user %s: %w", found.Username, err)
	}
	return &account{found.Username, uint32(uid), uint32(gid)}, nil
}

// accountFor is the owner of the data folder dir if it exists, so that a cluster made by one user is served by the
// same one; else serverAccount.
func accountFor(dir string) (*account, error) {
	as, err := serverAccount()
	if err != nil || as == nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return as, nil
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 || stat.Uid == as.uid {
		return as, nil
	}
	return &account{fmt.Sprintf("with id %d", stat.Uid), stat.Uid, stat.Gid}, nil
}

// apply has cmd run as the account, without root's groups.
func (a *account) apply(cmd *exec.Cmd) {
	if a != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.gid}}
	}
}

// own gives the file or folder at path to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// reach makes sure that the account can pass through every folder down to dir. Folders of ours below the temporary
// folder are opened for passing (not for reading); others are the user's, and are not touched.
func (a *account) reach(dir string) error {
	if a == nil {
		return nil
	}
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return err
	}
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !a.passes(info) {
			if !strings.HasPrefix(dir, temp+string(filepath.Separator)) || !madeByUs(info) {
				return fmt.Errorf("a Postgres server must not run as root, and the user %s who runs it cannot pass through %s: choose a folder below %s or /var/lib",
					a.name, dir, temp)
			}
			if err := os.Chmod(dir, info.Mode().Perm()|0o001); err != nil {
				return err
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func madeByUs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

func (a *account) passes(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return false
	case stat.Uid == a.uid:
		return info.Mode()&0o100 != 0
	case stat.Gid == a.gid:
		return info.Mode()&0o010 != 0
	default:
		return info.Mode()&0o001 != 0
	}
}
