package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/selfregulating/sr/connectors/postgres/pglocal"
)

// ServerVariable names the environment variable with the URL of a server that is used instead of one of our own. Its
// user must be allowed to create databases.
const ServerVariable = "SR_TEST_POSTGRES"

// patience bounds every step, a fetch of Postgres among them.
const patience = 5 * time.Minute

// shared starts the server of this test binary.
var shared = sync.OnceValues(func() (string, error) {
	if given := os.Getenv(ServerVariable); given != "" {
		return given, nil
	}
	server, remove, err := start()
	if err != nil {
		return "", err
	}
	kept = append(kept, remove)
	return server.URL(), nil
})

// kept refers to the lock on the folder of the shared server. A lock that nothing refers to is collected, and with it
// goes the claim on the folder: another process would remove the data of a server that runs.
var kept []func()

// URL returns the URL of a new and empty database, which is dropped when the test ends, whoever is still connected.
func URL(t testing.TB) string {
	t.Helper()
	server, err := shared()
	if err != nil {
		t.Fatalf("starting Postgres for the tests: %v", err)
	}
	name := "sr_test_" + strings.ToLower(rand.Text())
	// The name holds letters and digits alone, so it needs no quotes. A copy of the template's files is several times
	// faster than one through the log where nothing is synced.
	if err := execute(server, "CREATE DATABASE "+name+" STRATEGY file_copy"); err != nil {
		t.Fatalf("making a database for the test: %v", err)
	}
	t.Cleanup(func() {
		if err := execute(server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("dropping the database of the test: %v", err)
		}
	})
	database, err := withDatabase(server, name)
	if err != nil {
		t.Fatalf("reading %s: %v", ServerVariable, err)
	}
	return database
}

// withDatabase is the URL server with another database.
func withDatabase(server, name string) (string, error) {
	parsed, err := url.Parse(server)
	if err != nil || parsed.Host == "" {
		return "", fmt.Errorf("it must have the form postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	parsed.Path = "/" + name
	return parsed.String(), nil
}

func execute(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// Server returns a running server that belongs to the test alone, which may stop, kill and restart it. It is gone
// when the test ends.
func Server(t testing.TB) *pglocal.Server {
	t.Helper()
	server, remove, err := start()
	if err != nil {
		t.Fatalf("starting Postgres for the test: %v", err)
	}
	t.Cleanup(func() {
		server.Kill()
		remove()
	})
	return server
}
