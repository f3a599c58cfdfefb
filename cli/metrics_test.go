package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/cli"
	"github.com/selfregulating/sr/connectors/kafka/kafkalocal"
	"github.com/selfregulating/sr/connectors/postgres/pgtest"
	"github.com/selfregulating/sr/examples/wordcount"
)

func TestMetricsAnswerWhileATopologyRuns(t *testing.T) {
	_, kafka := kafkalocal.Fake(t, kfake.SeedTopics(1, "sentences"))
	produceTo(t, kafka, "sentences", "one", "two", "three")
	database := pgtest.URL(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := cli.Main(ctx,
			[]string{
				"sr", "run", "wordcount", "--kafka", kafka, "--postgres", database,
				"--metrics", "127.0.0.1:0", "--log-format", "json",
			},
			cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: writer}, wordcount.Topology())
		_ = writer.Close()
		ended <- code
	}()
	address := metricsAddress(t, reader)

	if body := get(t, "http://"+address+"/healthz"); body != "ok\n" {
		t.Errorf("/healthz answers %q, want ok", body)
	}
	want := regexp.MustCompile(`(?m)^sr_records_total\{instance="0",operator="sentences",topology="wordcount"\} 3$`)
	deadline := time.Now().Add(patience)
	body := get(t, "http://"+address+"/metrics")
	for !want.MatchString(body) && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
		body = get(t, "http://"+address+"/metrics")
	}
	if !want.MatchString(body) {
		t.Errorf("/metrics lacks %s:\n%s", want, body)
	}
	if other := regexp.MustCompile(`(?m)^([^s#]|s[^r]|sr[^_]).*`).FindString(body); other != "" {
		t.Errorf("a metric is not named sr_*: %s", other)
	}

	stop()
	if code := <-ended; code != 0 {
		t.Errorf("the drained run ends with %d, want 0", code)
	}
}

func produceTo(t *testing.T, kafka, topic string, values ...string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(kafka))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, v := range values {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// metricsAddress reads the log until it tells the address, and the rest of it in the background.
func metricsAddress(t *testing.T, log io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving metrics" {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return line.Address
		}
		t.Log(lines.Text())
	}
	t.Fatal("the run ended before it served metrics")
	return ""
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s (%v): %s", url, resp.Status, err, body)
	}
	return string(body)
}
