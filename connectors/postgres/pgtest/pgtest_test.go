package pgtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func mustExecute(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestEveryURLIsAnEmptyDatabaseOnOneServer(t *testing.T) {
	first, second := connect(t, URL(t)), connect(t, URL(t))
	mustExecute(t, first, "CREATE TABLE numbers(n int)")
	mustExecute(t, second, "CREATE TABLE numbers(n int)")
	if first.Config().Port != second.Config().Port {
		t.Error("two servers were started")
	}
	if first.Config().Database == second.Config().Database {
		t.Error("both have the same database")
	}
}

func TestTheDatabaseIsGoneAfterTheTestAlsoWhenConnected(t *testing.T) {
	var url string
	var left *pgx.Conn
	t.Run("inner", func(inner *testing.T) {
		url = URL(inner)
		left = connect(t, url)
	})
	if _, err := left.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("its connection lives on")
	}
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		_ = conn.Close(t.Context())
		t.Error("the database is still there")
	}
}

func TestServerBelongsToTheTestAndGoesWithIt(t *testing.T) {
	var url string
	t.Run("inner", func(t *testing.T) {
		server := Server(t)
		url = server.URL()
		if url == URL(t) {
			t.Error("it is the shared server")
		}
		server.Kill()
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		connect(t, url)
	})
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		_ = conn.Close(t.Context())
		t.Error("it is still running")
	}
}

func TestClaimRemovesFoldersOfEndedProcessesOnly(t *testing.T) {
	alive, remove, err := claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	ended := filepath.Join(filepath.Dir(alive), "server-of-an-ended-process")
	if err := os.MkdirAll(filepath.Join(ended, "pg"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, removeOther, err := claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer removeOther()
	if _, err := os.Stat(alive); err != nil {
		t.Errorf("the folder of a living process: %v", err)
	}
	if _, err := os.Stat(ended); !os.IsNotExist(err) {
		t.Errorf("the folder of an ended process is still there: %v", err)
	}
}

func TestAGivenServerKeepsItsParametersInURLs(t *testing.T) {
	for given, want := range map[string]string{
		"postgres://u:p@h:1/postgres?sslmode=disable": "postgres://u:p@h:1/fresh?sslmode=disable",
		"postgres://u@h": "postgres://u@h/fresh",
	} {
		if got, err := withDatabase(given, "fresh"); err != nil || got != want {
			t.Errorf("%s: got %s, %v", given, got, err)
		}
	}
	if _, err := withDatabase("host=h user=u", "fresh"); err == nil {
		t.Error("a connection string that is no URL was accepted")
	}
}
