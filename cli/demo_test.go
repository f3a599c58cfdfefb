package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// demoPatience bounds what a test waits for; a fetch of Postgres is among it.
const demoPatience = 3 * time.Minute

// demoRun is a process of sr demo.
type demoRun struct {
	*exec.Cmd
	t      *testing.T
	stdout bytes.Buffer
	said   *bufio.Scanner
	all    []string // lines of the conversation
}

func startDemo(t *testing.T, args ...string) *demoRun {
	t.Helper()
	// TestMain has put this binary on PATH as sr.
	d := &demoRun{Cmd: exec.Command("sr", append([]string{"demo"}, args...)...), t: t}
	d.Stdout = &d.stdout
	stderr, err := d.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.said = bufio.NewScanner(stderr)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	impatient := time.AfterFunc(demoPatience, func() { _ = d.Process.Kill() })
	t.Cleanup(func() {
		impatient.Stop()
		_ = d.Process.Kill()
	})
	return d
}

// until reads the conversation up to a line that begins so.
func (d *demoRun) until(beginning string) {
	d.t.Helper()
	for d.said.Scan() {
		d.all = append(d.all, d.said.Text())
		if strings.HasPrefix(d.said.Text(), beginning) {
			return
		}
	}
	d.t.Fatalf("sr demo ended before it said %q; it said:\n%s", beginning, strings.Join(d.all, "\n"))
}

// end waits for the process and answers its exit code.
func (d *demoRun) end() int {
	d.t.Helper()
	for d.said.Scan() {
		d.all = append(d.all, d.said.Text())
	}
	err := d.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	return d.ProcessState.ExitCode()
}

// rest is what the conversation said behind this beginning; empty if it did not.
func (d *demoRun) rest(beginning string) string {
	for _, line := range d.all {
		if rest, ok := strings.CutPrefix(line, beginning); ok {
			return rest
		}
	}
	return ""
}

func (d *demoRun) folder() string { return d.rest("Starting Kafka and Postgres in ") }

// servers are the addresses that were told.
func (d *demoRun) servers() []string {
	d.t.Helper()
	var all []string
	if kafka := d.rest("Kafka: "); kafka != "" {
		all = append(all, kafka)
	}
	if database := d.rest("Postgres: "); database != "" {
		u, err := url.Parse(database)
		if err != nil {
			d.t.Fatal(err)
		}
		all = append(all, u.Host)
	}
	return all
}

// leavesNothing fails the test if a server answers or the folder is there.
func (d *demoRun) leavesNothing() {
	d.t.Helper()
	for _, addr := range d.servers() {
		if conn, err := net.Dial("tcp", addr); err == nil {
			_ = conn.Close()
			d.t.Errorf("%s still answers", addr)
		}
	}
	if _, err := os.Stat(d.folder()); !errors.Is(err, os.ErrNotExist) {
		d.t.Errorf("its folder %q is left: %v", d.folder(), err)
	}
}

// proof is the JSON answer.
type proof struct {
	Fed, Counted, Distinct, Records, Bytes int64
	Exact                                  bool
	DeadLetters                            int64 `json:"dead_letters"`
	ResumedRecords                         int64 `json:"resumed_records"`
}

func prove(t *testing.T, args ...string) (proof, *demoRun) {
	t.Helper()
	d := startDemo(t, append(args, "--exit", "--output", "json", "--rate", "0")...)
	if code := d.end(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, strings.Join(d.all, "\n"))
	}
	var p proof
	decoder := json.NewDecoder(&d.stdout)
	if err := decoder.Decode(&p); err != nil {
		t.Fatalf("the answer is no JSON: %v", err)
	}
	if rest, _ := io.ReadAll(io.MultiReader(decoder.Buffered(), &d.stdout)); string(rest) != "\n" {
		t.Errorf("behind the line of JSON stands %q", rest)
	}
	return p, d
}

func TestDemoProvesItsCounts(t *testing.T) {
	t.Parallel()
	p, d := prove(t, "--mb", "1")
	if !p.Exact || p.Fed != p.Counted || p.Fed < 100_000 || p.Distinct < 5000 || p.Bytes < 1_000_000 || p.ResumedRecords != 0 {
		t.Errorf("the proof is %+v", p)
	}
	if len(d.servers()) != 2 {
		t.Errorf("it did not say where its servers are:\n%s", strings.Join(d.all, "\n"))
	}
	d.leavesNothing()
}

func TestDemoGoesOnInAKeptFolder(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("the man  and the dog\n\xff\nthe dog"), 0o600); err != nil {
		t.Fatal(err)
	}
	keep := filepath.Join(t.TempDir(), "kept")
	first, _ := prove(t, "--file", text, "--keep", keep)
	want := proof{Fed: 7, Counted: 7, Distinct: 4, Records: 3, Bytes: first.Bytes, Exact: true, DeadLetters: 1}
	if first != want {
		t.Errorf("the first proof is %+v, want %+v", first, want)
	}
	second, d := prove(t, "--file", text, "--keep", keep)
	want = proof{Fed: 14, Counted: 14, Distinct: 4, Records: 6, Bytes: 2 * first.Bytes, Exact: true, DeadLetters: 2, ResumedRecords: 3}
	if second != want {
		t.Errorf("the second proof is %+v, want %+v", second, want)
	}
	if d.rest("Resuming: ") == "" {
		t.Errorf("it did not say that it resumes:\n%s", strings.Join(d.all, "\n"))
	}
}

func TestDemoLeavesNothingWhenInterrupted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no interrupt to send")
	}
	for _, at := range []string{"Starting", "Postgres ", "Kafka: ", "Feeding"} {
		t.Run(strings.TrimRight(at, ": "), func(t *testing.T) {
			d := startDemo(t, "--mb", "5", "--rate", "0.1")
			d.until(at)
			if err := d.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if code := d.end(); code != 130 {
				t.Errorf("exit code %d, want 130:\n%s", code, strings.Join(d.all, "\n"))
			}
			d.leavesNothing()
		})
	}
}

func TestDemoServersEndWhenItIsKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends children with their parent")
	}
	d := startDemo(t, "--mb", "5", "--rate", "0.1")
	d.until("Feeding")
	t.Cleanup(func() { _ = os.RemoveAll(d.folder()) })
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	d.end()
	deadline := time.Now().Add(demoPatience)
	for _, addr := range d.servers() {
		for conn, err := net.Dial("tcp", addr); err == nil; conn, err = net.Dial("tcp", addr) {
			_ = conn.Close()
			if time.Now().After(deadline) {
				t.Fatalf("%s still answers", addr)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func TestDemoRefusesWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--file", filepath.Join(t.TempDir(), "missing")},
		{"--file", t.TempDir()},
		{"--mb", "0"},
		{"--rate", "-1"},
		{"--keep", ".."},
		{"word"},
		{"--output", "csv"},
	} {
		d := startDemo(t, append([]string{"--exit"}, args...)...)
		if code := d.end(); code != 2 || d.folder() != "" {
			t.Errorf("%v: exit code %d, want 2 before anything is started:\n%s", args, code, strings.Join(d.all, "\n"))
		}
	}
}
