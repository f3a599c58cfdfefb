package cli

import (
	"fmt"
	"os"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"github.com/selfregulating/sr/cli/bench"
	"github.com/selfregulating/sr/cli/render"
)

func (a *app) benchCommand() *ucli.Command {
	return &ucli.Command{
		Name:        "bench",
		Usage:       "measure what sr does on this machine or on a cluster of yours",
		Description: describe("Measures sr beside plain programs in the same run.", "sr bench wordcount", "sr bench wordcount --help"),
		Subcommands: []*ucli.Command{a.benchWordcountCommand()},
	}
}

func (a *app) benchWordcountCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "wordcount",
		Usage: "measure the word count against plain consumer loops",
		Description: describe(
			"Fills a topic with random sentences, counts its words with plain loops that write nothing (one\n"+
				"processor, then two counting goroutines), then with sr into Postgres, and prints rates, processor time\n"+
				"by process, how stale the table was as an independent reader saw it, peak memory and the ratios.\n"+
				"Without --kafka and --postgres it starts an embedded broker and a local Postgres for the time of the\n"+
				"run. The topic must not exist; it is deleted at the end.",
			"sr bench wordcount",
			"sr bench wordcount --kafka localhost:9092 --postgres postgres://user@localhost/app --distribution zipf --output json",
		),
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "kafka", EnvVars: []string{"SR_KAFKA"}, Usage: "brokers to use, `HOST:PORT`[,HOST:PORT]"},
			&ucli.StringFlag{Name: "postgres", EnvVars: []string{"SR_POSTGRES"}, Usage: "database to use, a postgres:// `URL`"},
			&ucli.StringFlag{Name: "topic", Value: "sr-bench", Usage: "`NAME` of the topic to make"},
			&ucli.StringFlag{Name: "distribution", Value: string(bench.Uniform), Usage: "of the words: uniform or zipf"},
			&ucli.Int64Flag{Name: "records", Usage: "`NUMBER` of sentences (default: 10 million, 20 million for zipf)"},
			&ucli.IntFlag{Name: "distinct", Value: 450_000, Usage: "`NUMBER` of distinct words"},
			&ucli.IntFlag{Name: "bytes", Value: 200, Usage: "`SIZE` of a sentence"},
			&ucli.IntFlag{Name: "partitions", Value: 16, Usage: "`NUMBER` of partitions of the topic"},
			&ucli.IntFlag{Name: "buckets", Value: 64, Usage: "`NUMBER` of buckets of the exchange"},
			&ucli.IntFlag{Name: "parallelism", Value: 2, Usage: "`NUMBER` of instances of the counting operator"},
			&ucli.IntFlag{Name: "light", Value: 60, Usage: "`SECONDS` of light load (1,000 records/s) for the latency; 0 leaves it out"},
			&ucli.BoolFlag{Name: "no-loops", Usage: "leave the plain loops out"},
			&ucli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of the text"},
			&ucli.StringFlag{Name: "dir", Usage: "`FOLDER` for the servers' data (default: a temporary one)"},
			outputFlag,
		},
		Action: a.benchWordcount,
	}
}

func (a *app) benchWordcount(c *ucli.Context) error {
	printer, err := a.printer(c)
	if err != nil {
		return err
	}
	if err := noArguments(c); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	dir := c.String("dir")
	if dir == "" {
		if dir, err = os.MkdirTemp("", "sr-bench-"); err != nil {
			return &environmentError{fmt.Errorf("making a temporary folder: %w", err)}
		}
		defer func() { _ = os.RemoveAll(dir) }() // a temporary folder that stays is no reason to fail
	}
	config := bench.Config{
		Postgres: c.String("postgres"), Program: program, Dir: dir, Topic: c.String("topic"),
		Records: c.Int64("records"), Bytes: c.Int("bytes"), Distinct: c.Int("distinct"), Partitions: c.Int("partitions"),
		Buckets: c.Int("buckets"), Parallelism: c.Int("parallelism"), Distribution: bench.Distribution(c.String("distribution")),
		Seed: c.Uint64("seed"), Loops: !c.Bool("no-loops"), Light: c.Int("light"), Log: a.Err,
	}
	if k := c.String("kafka"); k != "" {
		config.Kafka = strings.Split(k, ",")
	}
	report, err := bench.Run(c.Context, config, a.benchProgress())
	if err != nil {
		return err
	}
	return printer.Print(benchAnswer(report))
}

// benchProgress shows what is done now: a bar on a terminal, else a line for each new thing.
func (a *app) benchProgress() func(doing string, share float64) {
	const whole = 1000
	var bar *render.Progress
	var now string
	var shown int64
	return func(doing string, share float64) {
		if doing != now {
			if bar != nil {
				bar.End()
			}
			now, shown = doing, 0
			if !render.IsTerminal(a.Err) {
				fmt.Fprintln(a.Err, doing)
			}
			bar = render.NewProgress(a.Err, doing, whole, render.Pieces)
		}
		if at := int64(share * whole); at > shown {
			bar.Add(at - shown)
			shown = at
		}
	}
}

func benchAnswer(r *bench.Report) render.Answer {
	rows := [][]any{}
	loop := func(name string, l *bench.Loop, over float64) {
		if l != nil {
			rows = append(rows, []any{name, thousands(l.RecordRate), fmt.Sprintf("%.2f", l.CPU), fmt.Sprintf("%.2f", over)})
		}
	}
	loop("plain loop, 1 processor", r.Loop1, r.OverLoop1)
	loop("plain loop, 2 counting", r.Loop2, r.OverLoop2)
	rows = append(rows,
		[]any{"sr", thousands(r.SR.RecordRate), fmt.Sprintf("%.2f", r.SR.CPU), ""},
		[]any{"  broker", "", fmt.Sprintf("%.2f", r.SR.CPUKafka), ""},
		[]any{"  Postgres", "", fmt.Sprintf("%.2f", r.SR.CPUPostgres), ""},
	)
	sections := []render.Section{
		{Title: fmt.Sprintf("Word count, %s, %d records", r.Distribution, r.Records), Columns: []string{"program", "records/s", "cpu µs/record", "sr ÷ this"}, Rows: rows},
		{Title: "Table", Columns: []string{"stale p50 s", "p99 s", "max s", "peak MB", "words", "rows", "exact"}, Rows: [][]any{{
			fmt.Sprintf("%.2f", r.SR.StaleMedian), fmt.Sprintf("%.2f", r.SR.StaleP99), fmt.Sprintf("%.2f", r.SR.StaleMax),
			r.SR.PeakMemory >> 20, r.SR.Words, r.SR.Rows, exactly(r.SR.Exact),
		}}},
		{Title: "Split and count in memory", Columns: []string{"map ns/word", "inline table", "sr", "sr ÷ best"}, Rows: [][]any{{
			fmt.Sprintf("%.1f", r.Micro.Map), fmt.Sprintf("%.1f", r.Micro.Inline), fmt.Sprintf("%.1f", r.Micro.Table), fmt.Sprintf("%.2f", r.Micro.TableOverBest),
		}}},
	}
	if l := r.Light; l != nil {
		sections = append(sections, render.Section{
			Title: fmt.Sprintf("Light load, %d records/s for %d s", l.RecordRate, l.Seconds), Columns: []string{"samples", "p50 ms", "p99 ms", "max ms"},
			Rows: [][]any{{l.Samples, fmt.Sprintf("%.1f", l.P50), fmt.Sprintf("%.1f", l.P99), fmt.Sprintf("%.1f", l.Max)}},
		})
	}
	return render.Answer{Value: r, Sections: sections}
}

func thousands(v float64) string { return fmt.Sprintf("%.1f k", v/1000) }

func exactly(v *bool) string {
	switch {
	case v == nil:
		return "not compared"
	case *v:
		return "yes"
	}
	return "no"
}
