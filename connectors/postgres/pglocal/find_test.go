//go:build unix

package pglocal

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nothingToFetch is a configuration whose repository has nothing.
func nothingToFetch(t *testing.T) Config {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return Config{Repository: server.URL, CacheDir: filepath.Join(folder(t), "cache")}.withDefaults()
}

func TestFindFollowsALinkOnPathToTheInstallation(t *testing.T) {
	dir := folder(t)
	install(t, filepath.Join(dir, "real", "bin"), "16.4 (Debian 16.4-1)")
	links := filepath.Join(dir, "links")
	if err := os.Mkdir(links, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../real/bin/postgres", filepath.Join(links, "postgres")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", links)

	found := must[Binaries](t)(find(t.Context(), nothingToFetch(t), nil))
	if found.InitDB != filepath.Join(dir, "real", "bin", "initdb") || found.Version != "16.4" || found.Major() != 16 {
		t.Errorf("found %+v", found)
	}
}

func TestFindPassesOverAWrapperWithoutInitdb(t *testing.T) {
	dir := folder(t)
	write(t, filepath.Join(dir, "wrapper", "postgres"), "#!/bin/sh\necho 'postgres (PostgreSQL) 17.1'\n")
	install(t, filepath.Join(dir, "later"), "15.2")
	t.Setenv("PATH", filepath.Join(dir, "wrapper")+":"+filepath.Join(dir, "later"))

	if found := must[Binaries](t)(find(t.Context(), nothingToFetch(t), nil)); found.Version != "15.2" {
		t.Errorf("found %+v", found)
	}
}

func TestFindTakesTheNewestOfTheUsualFolders(t *testing.T) {
	dir := folder(t)
	for _, version := range []string{"9.6", "15.1", "100.2", "17.3"} {
		major, _, _ := strings.Cut(version, ".")
		install(t, filepath.Join(dir, major, "bin"), version)
	}
	t.Setenv("PATH", "")

	found := must[Binaries](t)(find(t.Context(), nothingToFetch(t), []string{filepath.Join(dir, "*", "bin")}))
	if found.Version != "100.2" {
		t.Errorf("found %+v", found)
	}
}

func TestFindSaysWhyEachIsOfNoUse(t *testing.T) {
	dir := folder(t)
	install(t, filepath.Join(dir, "old"), "14.9")
	write(t, filepath.Join(dir, "odd", "postgres"), "#!/bin/sh\necho hello\n")
	write(t, filepath.Join(dir, "odd", "initdb"), "#!/bin/sh\n")
	t.Setenv("PATH", filepath.Join(dir, "old")+":"+filepath.Join(dir, "odd"))

	_, err := find(t.Context(), nothingToFetch(t), nil)
	if err == nil {
		t.Fatal("found what is not there")
	}
	for _, part := range []string{"version 14.9, and 15 or newer", `it answered "hello`, "fetching Postgres " + DefaultVersion, RepositoryVariable} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in: %v", part, err)
		}
	}
}
