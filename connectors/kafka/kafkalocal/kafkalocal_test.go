package kafkalocal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/connectors/internal/local"
)

// TestMain lets the test binary be the broker's process, and a parent that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "internal" {
		other := flag.NewFlagSet("internal", flag.ExitOnError)
		dir, port := other.String("dir", "", ""), other.Int("port", 0, "")
		_ = other.Parse(os.Args[3:])
		roles := map[string]func(Config) error{"kafka": broker, "parent": parent}
		if err := roles[os.Args[2]](Config{Dir: *dir, Port: *port, Command: command}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

var command = []string{"internal", "kafka"}

func broker(cfg Config) error { return Serve(context.Background(), cfg) }

func parent(cfg Config) error {
	s, err := Start(context.Background(), cfg)
	if err != nil {
		return err
	}
	fmt.Println(s.Pid(), s.Addr())
	select {}
}

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Start(patient(t), Config{Dir: dir, Command: command})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	// Without client metrics, closing a client whose broker is gone does not wait for a last report to it.
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.DisableClientMetrics())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func createTopic(t *testing.T, c *kgo.Client, name string, partitions int32, configs map[string]*string) {
	t.Helper()
	if _, err := kadm.NewClient(c).CreateTopic(patient(t), partitions, -1, configs, name); err != nil {
		t.Fatal(err)
	}
}

func produce(t *testing.T, c *kgo.Client, topic string, value []byte, times int) {
	t.Helper()
	records := make([]*kgo.Record, times)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Value: value}
	}
	if err := c.ProduceSync(patient(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// count is the sum of the end offsets of a topic.
func count(t *testing.T, c *kgo.Client, topic string) (sum int64) {
	t.Helper()
	ends, err := kadm.NewClient(c).ListEndOffsets(patient(t), topic)
	if err = errors.Join(err, ends.Error()); err != nil {
		t.Fatal(err)
	}
	ends.Each(func(end kadm.ListedOffset) { sum += end.Offset })
	return sum
}

func TestTopicsAndAddressOutliveStopKillAndRestart(t *testing.T) {
	s := start(t, t.TempDir())
	addr := s.Addr()
	createTopic(t, client(t, addr), "kept", 3, nil)
	stop := func() {
		if err := s.Stop(patient(t)); err != nil {
			t.Errorf("stopping: %v", err)
		}
	}
	for round, end := range []func(){stop, s.Kill, func() {}} {
		produce(t, client(t, addr), "kept", []byte("value"), 10)
		end()
		if err := s.Restart(patient(t)); err != nil {
			t.Fatal(err)
		}
		if got, want := count(t, client(t, addr), "kept"), int64(10*(round+1)); got != want || s.Addr() != addr {
			t.Errorf("round %d: %d records at %s, want %d at %s", round, got, s.Addr(), want, addr)
		}
	}
	stop()
	stop() // twice is no error
}

func TestSegmentsAreSmall(t *testing.T) {
	dir := t.TempDir()
	c := client(t, start(t, dir).Addr(), kgo.ProducerBatchCompression(kgo.NoCompression()))
	size := "1048576"
	createTopic(t, c, "by_default", 1, nil)
	createTopic(t, c, "chosen", 1, map[string]*string{"segment.bytes": &size})
	produce(t, c, "by_default", make([]byte, 100_000), 200) // 20 MB: above one segment of 16 MiB, below two
	produce(t, c, "chosen", make([]byte, 100_000), 50)      // 5 MB in batches of 1 MB
	for topic, want := range map[string]int{"by_default": 2, "chosen": 3} {
		if got := segments(t, dir, topic); got < want {
			t.Errorf("%s has %d segments, want at least %d", topic, got, want)
		}
	}
}

func segments(t *testing.T, dir, topic string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.Contains(path, topic) && strings.HasSuffix(path, ".dat") {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestManyPartitionsAndLargeMessagesWork(t *testing.T) {
	c := client(t, start(t, t.TempDir()).Addr(), kgo.ProducerBatchMaxBytes(8<<20), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	size, segment, off := "8388608", "16777216", "-1"
	createTopic(t, c, "exchange", 256, map[string]*string{
		"max.message.bytes": &size, "segment.bytes": &segment, "retention.ms": &off, "retention.bytes": &off,
	})
	produce(t, c, "exchange", []byte("small"), 1024)
	produce(t, c, "exchange", make([]byte, 7<<20), 2)
	if got := count(t, c, "exchange"); got != 1026 {
		t.Errorf("%d records", got)
	}
}

func TestNamingATopicDoesNotMakeIt(t *testing.T) {
	_, addr := Fake(t)
	c := client(t, addr, kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(0))
	err := c.ProduceSync(patient(t), &kgo.Record{Topic: "typo"}).FirstErr()
	if !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("got %v", err)
	}
}

func TestFakeTakesOptionsAndEndsWithTheTest(t *testing.T) {
	var addr string
	t.Run("inner", func(t *testing.T) {
		var cluster *kfake.Cluster
		cluster, addr = Fake(t, kfake.NumBrokers(3), kfake.SeedTopics(4, "seeded"))
		if got := len(cluster.ListenAddrs()); got != 3 {
			t.Errorf("%d brokers", got)
		}
		produce(t, client(t, addr), "seeded", nil, 1)
	})
	if conn, err := net.Dial("tcp", addr); err == nil {
		_ = conn.Close()
		t.Error("it is still running")
	}
}

func TestServeReturnsWhenItsContextEndsAndSavesItsState(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []int64{10, 20} {
		ctx, cancel := context.WithCancel(t.Context())
		ready, ended := make(chan string, 1), make(chan error, 1)
		go func() { ended <- Serve(ctx, Config{Dir: dir, Ready: func(addr string) { ready <- addr }}) }()
		c := client(t, <-ready)
		if want == 10 {
			createTopic(t, c, "kept", 1, nil)
		}
		produce(t, c, "kept", nil, 10)
		if got := count(t, c, "kept"); got != want {
			t.Errorf("%d records, want %d", got, want)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

func TestServeRefusesAFolderThatIsServed(t *testing.T) {
	dir := t.TempDir()
	start(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := Serve(ctx, Config{Dir: dir}); !errors.Is(err, local.ErrLocked) {
		t.Errorf("got %v", err)
	}
}

func TestStartShowsWhyTheBrokerEnded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, err = Start(patient(t), Config{Dir: t.TempDir(), Port: listener.Addr().(*net.TCPAddr).Port, Command: command})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got %v", err)
	}
}

func TestReadyLineIsFoundInPieces(t *testing.T) {
	var printed strings.Builder
	w := newReadyWriter(&printed)
	pieces := []string{"noise\nkafka rea", "dy at 127.0.0.1:", "9092", "\nmore\n", "kafka ready at 127.0.0.1:1\n"}
	for _, piece := range pieces {
		if _, err := w.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-w.addr; got != "127.0.0.1:9092" {
		t.Errorf("the address is %q", got)
	}
	if printed.String() != strings.Join(pieces, "") {
		t.Error("the output was not passed on whole")
	}
}
