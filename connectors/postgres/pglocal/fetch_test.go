//go:build unix

package pglocal

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// txz is a stand-in for the binaries: bin with scripts of mode 0700 that call themselves 17.9, lib with a file of
// mode 0600 and a link to it.
//
//go:embed testdata/binaries.txz
var txz []byte

// repository serves files as a Maven repository does, and counts how often the jar was asked for.
type repository struct {
	files map[string][]byte // by suffix of the path
	asked atomic.Int32
	cut   bool // end the jar halfway
}

func (r *repository) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	content, ok := r.files[request.URL.Path[strings.LastIndexByte(request.URL.Path, '.'):]]
	if !ok || !strings.HasPrefix(request.URL.Path, "/io/zonky/test/postgres/embedded-postgres-binaries-") {
		http.NotFound(w, request)
		return
	}
	if strings.HasSuffix(request.URL.Path, ".jar") {
		r.asked.Add(1)
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.cut {
			content = content[:len(content)/2]
		}
	}
	_, _ = w.Write(content)
}

func jar(t *testing.T) []byte {
	t.Helper()
	var buffer bytes.Buffer
	archive := zip.NewWriter(&buffer)
	entry := must[interface{ Write([]byte) (int, error) }](t)(archive.Create("postgres-linux-x86_64.txz"))
	if _, err := entry.Write(txz); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// serving is a configuration that finds nothing installed and can fetch from the repository.
func serving(t *testing.T, r *repository) Config {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	t.Setenv("PATH", "")
	return Config{Repository: server.URL + "/", CacheDir: filepath.Join(folder(t), "cache")}.withDefaults()
}

func whole(t *testing.T) *repository {
	content := jar(t)
	return &repository{files: map[string][]byte{".jar": content, ".sha256": fmt.Appendf(nil, "%x", sha256.Sum256(content))}}
}

func TestFetchMakesBinariesThatEveryUserCanRun(t *testing.T) {
	previous := syscall.Umask(0o077)
	defer syscall.Umask(previous)
	r := whole(t)
	cfg := serving(t, r)
	var done, total int64
	cfg.Progress = func(d, n int64) { done, total = d, n }

	found := must[Binaries](t)(find(t.Context(), cfg, nil))
	if found.Version != "17.9" {
		t.Errorf("found %+v", found)
	}
	if size := int64(len(r.files[".jar"])); done != size || total != size {
		t.Errorf("progress ended at %d of %d, the jar has %d bytes", done, total, size)
	}
	home := filepath.Join(cfg.CacheDir, cfg.Version)
	for path, want := range map[string]os.FileMode{"": 0o755, "bin": 0o755, "bin/postgres": 0o755, "lib": 0o755, "lib/libpq.so.5": 0o644} {
		if info := must[os.FileInfo](t)(os.Stat(filepath.Join(home, path))); info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
		}
	}
}

func TestFetchHappensOnce(t *testing.T) {
	r := whole(t)
	cfg := serving(t, r)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := find(t.Context(), cfg, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if asked := r.asked.Load(); asked != 1 {
		t.Errorf("fetched %d times", asked)
	}
}

func TestFetchFallsBackToTheWeakerChecksum(t *testing.T) {
	r := whole(t)
	delete(r.files, ".sha256")
	r.files[".sha1"] = fmt.Appendf(nil, "%X  some.jar\n", sha1.Sum(r.files[".jar"]))
	must[Binaries](t)(find(t.Context(), serving(t, r), nil))
}

func TestFetchThatGoesWrongLeavesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*repository)
		says  string
	}{
		"wrong checksum": {func(r *repository) { r.files[".sha256"] = []byte("00") }, "does not match"},
		"wrong sha1":     {func(r *repository) { delete(r.files, ".sha256"); r.files[".sha1"] = []byte("00") }, "does not match"},
		"no checksum":    {func(r *repository) { delete(r.files, ".sha256") }, "no checksum beside it"},
		"cut off":        {func(r *repository) { r.cut = true }, "unexpected EOF"},
		"no archive": {func(r *repository) {
			r.files[".jar"] = []byte("no jar")
			r.files[".sha256"] = fmt.Appendf(nil, "%x", sha256.Sum256([]byte("no jar")))
		}, "not a valid zip"},
		"not there": {func(r *repository) { r.files = nil }, "not there"},
	} {
		t.Run(name, func(t *testing.T) {
			r := whole(t)
			test.spoil(r)
			cfg := serving(t, r)
			if _, err := find(t.Context(), cfg, nil); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
			assertEmpty(t, cfg.CacheDir)
		})
	}
}

func TestFetchThatIsCancelledLeavesNothing(t *testing.T) {
	r := whole(t)
	cfg := serving(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Progress = func(int64, int64) { cancel() }
	if _, err := find(ctx, cfg, nil); err == nil {
		t.Error("a cancelled fetch succeeded")
	}
	assertEmpty(t, cfg.CacheDir)
}

func TestFetchRemovesWhatAKilledOneLeft(t *testing.T) {
	cfg := serving(t, whole(t))
	left := filepath.Join(cfg.CacheDir, stagingPrefix+"1", "unpacked", "bin", "postgres")
	write(t, left, "half")
	must[Binaries](t)(find(t.Context(), cfg, nil))
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", left, err)
	}
}

func assertEmpty(t *testing.T, cache string) {
	t.Helper()
	for _, entry := range must[[]os.DirEntry](t)(os.ReadDir(cache)) {
		if entry.Name() != "lock" {
			t.Errorf("left %s", entry.Name())
		}
	}
}

func TestExtractWritesNothingOutsideItsFolder(t *testing.T) {
	for name, headers := range map[string][]tar.Header{
		"parent": {{Name: "../escaped", Typeflag: tar.TypeReg}},
		"link":   {{Name: "out", Typeflag: tar.TypeSymlink, Linkname: ".."}, {Name: "out/escaped", Typeflag: tar.TypeReg}},
	} {
		t.Run(name, func(t *testing.T) {
			var buffer bytes.Buffer
			archive := tar.NewWriter(&buffer)
			for _, header := range headers {
				if err := archive.WriteHeader(&header); err != nil {
					t.Fatal(err)
				}
			}
			dir := t.TempDir()
			inner := filepath.Join(dir, "inner")
			if err := os.Mkdir(inner, 0o755); err != nil {
				t.Fatal(err)
			}
			root := must[*os.Root](t)(os.OpenRoot(inner))
			defer root.Close()
			if err := untar(tar.NewReader(&buffer), root); err == nil {
				t.Error("the archive was accepted")
			}
			if _, err := os.Lstat(filepath.Join(dir, "escaped")); !os.IsNotExist(err) {
				t.Errorf("the file escaped: %v", err)
			}
		})
	}
}
