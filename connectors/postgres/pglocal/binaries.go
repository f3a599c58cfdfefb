package pglocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// Binaries are the programs of one Postgres installation.
type Binaries struct {
	InitDB   string // path of initdb
	Postgres string // path of postgres
	Version  string // as postgres prints it, such as "17.5"
}

// Major is the first number of Version.
func (b Binaries) Major() int {
	major, _ := strconv.Atoi(majorDigits.FindString(b.Version))
	return major
}

var (
	majorDigits = regexp.MustCompile(`^\d+`)
	// A vendor's build has its own name in the brackets.
	versionLine = regexp.MustCompile(`^postgres \([^)]*\) (\d\S*)`)
)

// errNoPostgres says that a folder holds no Postgres at all, which needs no mention to the user.
var errNoPostgres = errors.New("no Postgres here")

// inspect reads which Postgres is in the folder dir, following links. Its error says why that one is of no use.
func inspect(ctx context.Context, dir string, as *account) (Binaries, error) {
	postgres, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return Binaries{}, errNoPostgres
	}
	// A link or a wrapper may stand alone; the installation is where initdb stands too.
	found := Binaries{Postgres: postgres, InitDB: filepath.Join(filepath.Dir(postgres), "initdb")}
	if _, err := os.Stat(found.InitDB); err != nil {
		return Binaries{}, fmt.Errorf("%s has no initdb beside it", postgres)
	}
	found.Version, err = version(ctx, postgres, as)
	if err != nil {
		return Binaries{}, fmt.Errorf("asking %s for its version: %w", postgres, err)
	}
	if found.Major() < minMajor {
		return Binaries{}, fmt.Errorf("%s is version %s, and %d or newer is needed", postgres, found.Version, minMajor)
	}
	return found, nil
}

// version runs the program as the server's user, which also proves that this user can reach it.
func version(ctx context.Context, postgres string, as *account) (string, error) {
	cmd := exec.CommandContext(ctx, postgres, "--version")
	cmd.Dir, cmd.Env = "/", serverEnv()
	as.apply(cmd)
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	match := versionLine.FindSubmatch(out)
	if match == nil {
		return "", fmt.Errorf("it answered %.80q", out)
	}
	return string(match[1]), nil
}
