//go:build unix

package pglocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var fast = map[string]string{"fsync": "off", "shared_buffers": "16MB"}

var findOnce = sync.OnceValues(func() (Binaries, error) { return Find(context.Background(), Config{}) })

func config(t *testing.T) Config {
	t.Helper()
	return Config{Dir: filepath.Join(t.TempDir(), "pg"), Settings: fast, Binaries: must[Binaries](t)(findOnce())}
}

// start serves cfg until the test ends.
func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	s := must[*Server](t)(Start(patient(t), cfg))
	t.Cleanup(s.Kill)
	return s
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn := must[*pgx.Conn](t)(pgx.Connect(patient(t), url))
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func ask(t *testing.T, s *Server, query string) string {
	t.Helper()
	var answer string
	if err := connect(t, s.URL()).QueryRow(patient(t), query).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return answer
}

func execute(t *testing.T, s *Server, query string) {
	t.Helper()
	if _, err := connect(t, s.URL()).Exec(patient(t), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func TestStartServesUTF8WithTheSettingsAskedFor(t *testing.T) {
	s := start(t, config(t))
	for query, want := range map[string]string{
		"SHOW server_encoding":                         "UTF8",
		"SHOW fsync":                                   "off",
		"SHOW shared_buffers":                          "16MB",
		"SHOW listen_addresses":                        "127.0.0.1",
		"SELECT ('a' COLLATE \"default\" > 'B')::text": "true",
	} {
		if got := ask(t, s, query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func TestFsyncIsOnUnlessSwitchedOff(t *testing.T) {
	cfg := config(t)
	cfg.Settings = nil
	if got := ask(t, start(t, cfg), "SHOW fsync"); got != "on" {
		t.Errorf("fsync is %s", got)
	}
}

func TestNobodyGetsInWithoutThePassword(t *testing.T) {
	cfg := config(t)
	s := start(t, cfg)
	_, err := pgx.Connect(patient(t), strings.Replace(s.URL(), s.password, "guess", 1))
	if answer, ok := errors.AsType[*pgconn.PgError](err); !ok || answer.Code != "28P01" {
		t.Errorf("a wrong password got %v", err)
	}
	if info := must[os.FileInfo](t)(os.Stat(cfg.passwordFile())); info.Mode().Perm() != 0o600 {
		t.Errorf("the password file has mode %o", info.Mode().Perm())
	}
}

func TestDataAndURLOutliveStopAndRestart(t *testing.T) {
	s := start(t, config(t))
	url, pid := s.URL(), s.Pid()
	execute(t, s, "CREATE TABLE kept AS SELECT 'yes' AS answer")
	if err := s.Stop(patient(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(patient(t)); err != nil {
		t.Errorf("stopping twice: %v", err)
	}
	for range 2 { // of a stopped server, of a running one
		if err := s.Restart(patient(t)); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, s, "SELECT answer FROM kept"); got != "yes" {
			t.Errorf("kept: %s", got)
		}
	}
	if s.URL() != url || s.Pid() == pid {
		t.Errorf("after Restart: URL %s, before %s; pid %d, before %d", s.URL(), url, s.Pid(), pid)
	}
}

func TestRestartAfterKillRecoversWhileABackendIsBusy(t *testing.T) {
	s := start(t, config(t))
	execute(t, s, "CREATE TABLE kept AS SELECT 'yes' AS answer")
	busy := connect(t, s.URL())
	ended := make(chan error, 1)
	go func() {
		_, err := busy.Exec(context.Background(), "SELECT pg_sleep(600)")
		ended <- err
	}()
	for ask(t, s, "SELECT count(*)::text FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'") == "0" {
	}
	s.Kill()
	if err := s.Restart(patient(t)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the backend lived on")
	}
	if got := ask(t, s, "SELECT answer FROM kept"); got != "yes" {
		t.Errorf("kept: %s", got)
	}
}

func TestStartTakesOverTheFolderOfAKilledServer(t *testing.T) {
	cfg := config(t)
	first := start(t, cfg)
	execute(t, first, "CREATE TABLE kept AS SELECT 'yes' AS answer")
	first.Kill()
	if _, err := os.Stat(filepath.Join(cfg.dataDir(), "postmaster.pid")); err != nil {
		t.Fatalf("the killed server left no postmaster.pid: %v", err)
	}
	if got := ask(t, start(t, cfg), "SELECT answer FROM kept"); got != "yes" {
		t.Errorf("kept: %s", got)
	}
}

func TestStartRefusesAFolderThatIsServed(t *testing.T) {
	cfg := config(t)
	s := start(t, cfg)
	cfg.linger = time.Millisecond
	if _, err := Start(patient(t), cfg); !errors.Is(err, errServed) {
		t.Errorf("got %v", err)
	}
	ask(t, s, "SELECT 'still here'")
}

func TestStartNamesAPortThatIsTaken(t *testing.T) {
	listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	defer listener.Close()
	for name, port := range map[string]int{
		"by another program":  listener.Addr().(*net.TCPAddr).Port,
		"by another Postgres": start(t, config(t)).cfg.Port,
	} {
		cfg := config(t)
		cfg.Port = port
		if _, err := Start(patient(t), cfg); !errors.Is(err, errPortTaken) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestStartShowsTheServersOwnWords(t *testing.T) {
	cfg := config(t)
	cfg.Settings = map[string]string{"fsync": "off", "shared_buffers": "plenty"}
	if _, err := Start(patient(t), cfg); err == nil || !strings.Contains(err.Error(), `invalid value for parameter "shared_buffers"`) {
		t.Errorf("got %v", err)
	}
}

func TestStartMakesAHalfMadeClusterAnew(t *testing.T) {
	cfg := config(t)
	write(t, filepath.Join(cfg.Dir, "data.new", "PG_VERSION"), "15\n")
	write(t, cfg.passwordFile(), "of the half-made one")
	ask(t, start(t, cfg), "SELECT 'works'")
}

func TestStartRefusesAClusterOfAnotherVersion(t *testing.T) {
	cfg := config(t)
	write(t, filepath.Join(cfg.dataDir(), "PG_VERSION"), "12\n")
	want := fmt.Sprintf("the cluster was made by Postgres 12, and %s is version %s", cfg.Binaries.Postgres, cfg.Binaries.Version)
	if _, err := Start(patient(t), cfg); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

func TestStopThatMayNotWaitIsImmediateAndRecovers(t *testing.T) {
	s := start(t, config(t))
	execute(t, s, "CREATE TABLE kept AS SELECT 'yes' AS answer")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Stop(ctx) // an error or not: the server may be fast
	if !s.process.Ended() {
		t.Fatal("the server is still running")
	}
	if err := s.Restart(patient(t)); err != nil {
		t.Fatal(err)
	}
	ask(t, s, "SELECT answer FROM kept")
}

func TestACancelledStartLeavesNothingRunning(t *testing.T) {
	cfg := config(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ask(t, start(t, cfg), "SELECT 'works'")
}
