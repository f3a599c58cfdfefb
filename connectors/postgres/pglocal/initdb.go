package pglocal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/selfregulating/sr/connectors/internal/local"
)

// superuser owns the cluster and is the one that URL names.
const superuser = "postgres"

// prepare opens cfg.Dir for the account and makes the cluster in it unless there is one. It returns the password.
func prepare(ctx context.Context, cfg Config, as *account) (password string, err error) {
	if err := as.reach(cfg.Dir); err != nil {
		return "", err
	}
	stamp, err := os.ReadFile(filepath.Join(cfg.dataDir(), "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return initialize(ctx, cfg, as)
	}
	if err != nil {
		return "", err
	}
	if made := strings.TrimSpace(string(stamp)); made != strconv.Itoa(cfg.Binaries.Major()) {
		return "", fmt.Errorf("the cluster was made by Postgres %s, and %s is version %s: put the programs of version %s first on PATH, or use another folder",
			made, cfg.Binaries.Postgres, cfg.Binaries.Version, made)
	}
	kept, err := os.ReadFile(cfg.passwordFile())
	if err != nil {
		return "", fmt.Errorf("reading the password of the cluster: %w", err)
	}
	return strings.TrimSpace(string(kept)), nil
}

// initialize makes a cluster beside its final place and renames it last, so that one that was cut off is made anew.
func initialize(ctx context.Context, cfg Config, as *account) (string, error) {
	password := rand.Text()
	if err := writeOwned(cfg.passwordFile(), password, as); err != nil {
		return "", err
	}
	unfinished := cfg.dataDir() + ".new"
	// C.UTF-8 sorts by bytes and knows the letters of all languages; not every system has it.
	for _, locale := range []string{"C.UTF-8", "C"} {
		log, err := initdb(ctx, cfg, as, unfinished, locale)
		if err == nil {
			return password, os.Rename(unfinished, cfg.dataDir())
		}
		if ctx.Err() != nil || locale == "C" || !log.Contains("locale") {
			return "", fmt.Errorf("making the cluster with %s: %w\n%s", cfg.Binaries.InitDB, err, log)
		}
	}
	return password, nil
}

func initdb(ctx context.Context, cfg Config, as *account, dir, locale string) (*local.Tail, error) {
	log := &local.Tail{}
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), as.own(dir)); err != nil {
		return log, err
	}
	cmd := exec.CommandContext(ctx, cfg.Binaries.InitDB, "--pgdata="+dir, "--username="+superuser,
		"--encoding=UTF8", "--locale="+locale, "--auth=scram-sha-256", "--pwfile="+cfg.passwordFile())
	if cfg.Settings["fsync"] == "off" {
		cmd.Args = append(cmd.Args, "--no-sync")
	}
	cmd.Dir, cmd.Env = "/", serverEnv()
	cmd.Stdout, cmd.Stderr = log, log
	as.apply(cmd)
	process, err := local.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return log, err
	}
	<-process.Done()
	return log, process.Wait(context.Background())
}

// writeOwned writes a file that only the account (and root) can read.
func writeOwned(path, content string, as *account) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(path, []byte(content+"\n"), 0o600); err != nil {
		return err
	}
	return as.own(path)
}

// serverEnv is our environment without what would steer Postgres (PGDATA, PGPORT, LC_MESSAGES, ...): its messages
// are read by this package, in English.
func serverEnv() []string {
	steers := func(entry string) bool {
		return strings.HasPrefix(entry, "PG") || strings.HasPrefix(entry, "LC_") || strings.HasPrefix(entry, "LANG")
	}
	return append(slices.DeleteFunc(os.Environ(), steers), "LC_ALL=C")
}
