package kafka_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/connectors/kafka"
	"github.com/selfregulating/sr/runtime/broker"
)

// envServe makes the test program a broker that serves the benchmarks, so that their numbers are those
// of the client alone.
const envServe = "SR_KAFKA_BENCH_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(envServe) == "" {
		os.Exit(m.Run())
	}
	c := kfake.MustCluster(kfake.NumBrokers(1), kfake.SeedTopics(benchPartitions, "bench"),
		kfake.SyntheticFetch(kfake.SyntheticBatch{RecordBytes: 200, RandomFrac: 0.5}))
	fmt.Println(c.ListenAddrs()[0])
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // until the benchmark ends
}

const benchPartitions = 8

func serve(b *testing.B) (addr string) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envServe+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(b, err)
	stdout, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	b.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(b, err)
	return strings.TrimSpace(line)
}

// cpu is what this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func measure(b *testing.B, run func(records int)) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(200)
	before := cpu()
	b.ResetTimer()
	run(b.N)
	b.StopTimer()
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
}

// BenchmarkReader reads records of 200 bytes; an op is a record.
func BenchmarkReader(b *testing.B) {
	conn := open(b, kafka.Config{Seeds: []string{serve(b)}})
	r := reader(b, conn, broker.ReaderConfig{Topic: "bench", ReadCommitted: true})
	for p := range int32(benchPartitions) {
		r.Seek(p, 0)
	}
	measure(b, func(records int) {
		for sum := 0; records > 0; {
			f, err := r.Poll(b.Context())
			must(b, err)
			for _, c := range f.Chunks {
				for i := range c.Records {
					sum += len(c.Records[i].Value)
				}
				records -= len(c.Records)
			}
			f.Release()
		}
	})
}

// BenchmarkPlainConsumer reads the same with franz-go's consumer, for comparison.
func BenchmarkPlainConsumer(b *testing.B) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(serve(b)), kgo.ConsumeTopics("bench"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxBytes(16<<20), kgo.FetchMaxPartitionBytes(4<<20), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	must(b, err)
	defer cl.Close()
	measure(b, func(records int) {
		for sum := 0; records > 0; {
			f := cl.PollFetches(b.Context())
			f.EachRecord(func(r *kgo.Record) { sum += len(r.Value) })
			records -= f.NumRecords()
		}
	})
}
