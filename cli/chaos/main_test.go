//go:build kafka

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	// lease of every node.
	lease = time.Second
	// patience bounds every wait. It is no measure of anything: machines that run tests are slow.
	patience = time.Minute
)

// seed decides everything that is chosen.
var seed = chooseSeed()

func chooseSeed() uint64 {
	if given := os.Getenv("SR_CHAOS_SEED"); given != "" {
		n, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			panic("SR_CHAOS_SEED: " + err.Error())
		}
		return n
	}
	return uint64(rand.Uint32())
}

// random makes the generator of one test, so that its choices do not depend on what runs beside it.
func random(t testing.TB) *rand.Rand {
	var h uint64
	for _, c := range []byte(t.Name()) {
		h = h*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(seed, h))
}

func TestMain(m *testing.M) {
	fmt.Printf("chaos: repeat with SR_CHAOS_SEED=%d\n", seed)
	code := m.Run()
	if err := tally.print(os.Stdout); err != nil {
		fmt.Println("chaos: printing what was done:", err)
	}
	if code != 0 {
		fmt.Printf("chaos: failed with SR_CHAOS_SEED=%d\n", seed)
	}
	if dir := filepath.Dir(built.path); built.path != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

var built struct {
	once sync.Once
	path string
	err  error
}

// nodeBinary builds the node once.
func nodeBinary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "sr-chaos-")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "node")
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		defer cancel()
		out, err := exec.CommandContext(ctx, "go", "build", "-tags", nodeTags, "-o", built.path, "./node").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("building the node: %w\n%s", err, out)
		}
	})
	must(t, built.err)
	return built.path
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually asks until the answer is yes.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come true within %s", what, patience)
		}
	}
}
