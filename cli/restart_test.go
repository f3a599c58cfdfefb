package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/cli"
	"github.com/selfregulating/sr/connectors/kafka/kafkalocal"
	"github.com/selfregulating/sr/connectors/postgres/pgtest"
	"github.com/selfregulating/sr/examples/wordcount"
)

func TestARunThatIsStoppedUnderLoadAndStartedAgainCountsEveryWordOnce(t *testing.T) {
	_, kafka := kafkalocal.Fake(t, kfake.SeedTopics(3, "sentences"))
	database := pgtest.URL(t)
	truth := map[string]int64{}
	for range 3 {
		before := sum(counts(t, database))
		feed(t, kafka, truth)
		ctx, stop := context.WithCancel(t.Context())
		log := &bytes.Buffer{}
		ended := make(chan int, 1)
		go func() { ended <- runWordcount(ctx, log, kafka, database) }()
		waitForMore(t, database, before)
		stop()
		if code := <-ended; code != 0 {
			t.Fatalf("the drained run ends with %d:\n%s", code, log)
		}
	}
	log := &bytes.Buffer{}
	if code := runWordcount(t.Context(), log, kafka, database, "--until-caught-up"); code != 0 {
		t.Fatalf("the last run ends with %d:\n%s", code, log)
	}
	if got := counts(t, database); !maps.Equal(got, truth) {
		t.Errorf("counted %d words of %d, %d distinct of %d", sum(got), sum(truth), len(got), len(truth))
	}
}

func runWordcount(ctx context.Context, log io.Writer, kafka, database string, more ...string) int {
	args := append([]string{"sr", "run", "wordcount", "--kafka", kafka, "--postgres", database}, more...)
	return cli.Main(ctx, args, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: log}, wordcount.Topology())
}

// feed produces sentences and adds their words to the truth.
func feed(t *testing.T, kafka string, truth map[string]int64) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(kafka), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	random := rand.New(rand.NewPCG(1, uint64(len(truth))))
	for range 10_000 {
		words := make([]string, 8)
		for i := range words {
			words[i] = fmt.Sprint("word", random.IntN(5000))
			truth[words[i]]++
		}
		cl.Produce(t.Context(), &kgo.Record{Topic: "sentences", Value: []byte(strings.Join(words, " "))}, nil)
	}
	if err := cl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// waitForMore waits until more words are counted than before.
func waitForMore(t *testing.T, database string, before int64) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if sum(counts(t, database)) > before {
			return
		}
	}
	t.Fatal("no word is counted")
}

func counts(t *testing.T, database string) map[string]int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	counted := map[string]int64{}
	var made bool
	if err := conn.QueryRow(t.Context(), `SELECT to_regclass('word_counts') IS NOT NULL`).Scan(&made); err != nil || !made {
		return counted
	}
	rows, err := conn.Query(t.Context(), `SELECT word, count FROM word_counts`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var word string
		var count int64
		if err := rows.Scan(&word, &count); err != nil {
			t.Fatal(err)
		}
		counted[word] = count
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return counted
}

func sum(counts map[string]int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}
