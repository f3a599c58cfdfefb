package pglocal

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// folder is a temporary folder that the server's user can pass through.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// patient bounds what must not hang.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// install makes a folder with programs that answer with the given version.
func install(t *testing.T, bin, version string) {
	t.Helper()
	write(t, filepath.Join(bin, "postgres"), "#!/bin/sh\necho 'postgres (PostgreSQL) "+version+"'\n")
	write(t, filepath.Join(bin, "initdb"), "#!/bin/sh\n")
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
