package pglocal

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"
)

// stall is how long a server may keep silent before the fetch is given up.
const stall = 30 * time.Second

var (
	errStalled = fmt.Errorf("nothing arrived for %s", stall)
	errMissing = errors.New("not there")
)

// platformArtifact names the artifact for this machine, as the embedded-postgres project names them.
func platformArtifact() (string, error) {
	arch := map[string]string{"amd64": "amd64", "arm64": "arm64v8", "ppc64le": "ppc64le"}[runtime.GOARCH]
	if arch == "" || (runtime.GOOS != "linux" && runtime.GOOS != "darwin") {
		return "", fmt.Errorf("no Postgres can be fetched for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	// Alpine's C library is not the one that the other Linux binaries are linked to.
	if _, err := os.Stat("/etc/alpine-release"); err == nil {
		arch += "-alpine"
	}
	return "embedded-postgres-binaries-" + runtime.GOOS + "-" + arch, nil
}

// jarURL follows the layout of every Maven repository.
func jarURL(repository, artifact, version string) string {
	return fmt.Sprintf("%s/io/zonky/test/postgres/%s/%s/%s-%s.jar", repository, artifact, version, artifact, version)
}

// download writes the artifact to the file at path and checks it against the checksum that is published beside it:
// SHA-256, else SHA-1, which every Maven repository has.
func download(ctx context.Context, cfg Config, artifact, path string) error {
	url := jarURL(cfg.Repository, artifact, cfg.Version)
	strong, weak := sha256.New(), sha1.New()
	if err := save(ctx, url, path, cfg.Progress, strong, weak); err != nil {
		return err
	}
	err := verify(ctx, url+".sha256", strong)
	if errors.Is(err, errMissing) {
		err = verify(ctx, url+".sha1", weak)
	}
	if errors.Is(err, errMissing) {
		return fmt.Errorf("%s has no checksum beside it: use a repository that publishes .sha256 or .sha1", url)
	}
	return err
}

// save streams url into a new file and into the hashes.
func save(ctx context.Context, url, path string, progress func(done, total int64), sums ...io.Writer) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := get(ctx, url, progress, io.MultiWriter(append(sums, file)...)); err != nil {
		return err
	}
	return file.Close()
}

// verify compares sum with the published one; a file of checksums may name the jar behind the digits.
func verify(ctx context.Context, url string, sum hash.Hash) error {
	var published strings.Builder
	if err := get(ctx, url, func(int64, int64) {}, &published); err != nil {
		return err
	}
	want, _, _ := strings.Cut(strings.TrimSpace(published.String()), " ")
	if got := hex.EncodeToString(sum.Sum(nil)); !strings.EqualFold(got, want) {
		return fmt.Errorf("the download does not match %s: it has %s, published is %.80q: try again, or use another repository", url, got, want)
	}
	return nil
}

// get copies the body at url to w. A server that falls silent ends it.
func get(ctx context.Context, url string, progress func(done, total int64), w io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(stall, func() { cancel(errStalled) })
	defer watchdog.Stop()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return because(ctx, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("getting %s: %w", url, errMissing)
	default:
		return fmt.Errorf("getting %s: the server answered %s", url, response.Status)
	}
	meter := &meter{total: response.ContentLength, progress: progress, alive: func() { watchdog.Reset(stall) }}
	if _, err := io.Copy(io.MultiWriter(w, meter), response.Body); err != nil {
		return fmt.Errorf("reading %s: %w", url, because(ctx, err))
	}
	return nil
}

// because prefers the reason of an ended context to the error that it led to.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// meter counts what passes.
type meter struct {
	done, total int64
	progress    func(done, total int64)
	alive       func()
}

func (m *meter) Write(p []byte) (int, error) {
	m.alive()
	m.done += int64(len(p))
	m.progress(m.done, m.total)
	return len(p), nil
}
