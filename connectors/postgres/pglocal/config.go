package pglocal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// minMajor is the oldest Postgres that sr supports.
	minMajor = 15

	// DefaultVersion is the version that is fetched when none is found.
	DefaultVersion = "18.3.0"

	// DefaultRepository is the public Maven repository that holds the embedded-postgres binaries.
	DefaultRepository = "https://repo1.maven.org/maven2"

	// RepositoryVariable names the environment variable that replaces DefaultRepository.
	RepositoryVariable = "SR_MAVEN_REPOSITORY"
)

// Config says where a server lives and how its programs are found. Only Dir is required, and only by Start.
type Config struct {
	// Dir is the server's own folder, made if it is missing: cluster and password are kept in it.
	Dir string
	// Port on 127.0.0.1; 0 takes a free one, which the server then keeps over Restart.
	Port int
	// Log receives the server's log; nil drops it. The end of the log is in the error if a start goes wrong.
	Log io.Writer
	// Settings are server parameters, such as "fsync": "off". With fsync off, initdb does not sync either.
	Settings map[string]string
	// Binaries are the programs; the zero value has Start call Find.
	Binaries Binaries

	// CacheDir holds fetched binaries, a folder a version. Default: sr/postgres in the user's cache folder; for
	// root /var/cache/sr/postgres, since the server's user must be able to read it; where these cannot be
	// written, a folder of ours below the temporary folder.
	CacheDir string
	// Repository is the root URL of a Maven repository. Default: $SR_MAVEN_REPOSITORY, else DefaultRepository.
	Repository string
	// Version to fetch, three numbers as the embedded-postgres binaries have it. Default: DefaultVersion.
	Version string
	// Progress is called while bytes arrive, from one goroutine; total is -1 when it is unknown.
	Progress func(done, total int64)

	linger time.Duration // how long a start waits for the processes of an earlier life to end
}

func (c Config) withDefaults() Config {
	c.Repository = cmp.Or(c.Repository, os.Getenv(RepositoryVariable), DefaultRepository)
	c.Repository = strings.TrimRight(c.Repository, "/")
	c.Version = cmp.Or(c.Version, DefaultVersion)
	c.linger = cmp.Or(c.linger, 15*time.Second)
	if c.Log == nil {
		c.Log = io.Discard
	}
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
	return c
}

func (c Config) validate() error {
	if c.Dir == "" {
		return fmt.Errorf("the folder of the Postgres server is not given: set Dir")
	}
	if c.Port < 0 || c.Port > 65535 {
		return fmt.Errorf("port %d of the Postgres server is not between 0 and 65535", c.Port)
	}
	return nil
}

// dataDir is the cluster itself (PGDATA).
func (c Config) dataDir() string { return filepath.Join(c.Dir, "data") }

// passwordFile holds the superuser's password.
func (c Config) passwordFile() string { return filepath.Join(c.Dir, "password") }
