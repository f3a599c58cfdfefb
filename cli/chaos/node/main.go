// Command node runs one cell of the chaos suite in a process that the suite may kill. Its batches are
// small and its margins short, so that a minute holds what takes days elsewhere.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	ucli "github.com/urfave/cli/v2"

	"github.com/selfregulating/sr/cli/chaos/cell"
	"github.com/selfregulating/sr/connectors/kafka"
	"github.com/selfregulating/sr/connectors/postgres"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	node := &ucli.App{
		Name:  "node",
		Usage: "run a cell of the chaos suite",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "cell", Usage: "what to run, `SPOUT/STATE/SHAPE`"},
			&ucli.StringFlag{Name: "topic", Usage: "`TOPIC` to read"},
			&ucli.StringFlag{Name: "kafka", Usage: "a broker, `HOST:PORT`"},
			&ucli.StringFlag{Name: "postgres", Usage: "database, a `URL`"},
			&ucli.DurationFlag{Name: "lease", Value: time.Second, Usage: "lease of the container"},
			&ucli.DurationFlag{Name: "margin", Value: time.Second, Usage: "how long consumed blocks are kept"},
			&ucli.BoolFlag{Name: "skip", Usage: "go on at the earliest offset when records are gone"},
			&ucli.BoolFlag{Name: "until-caught-up", Usage: "end when all input is committed"},
		},
		Action: run,
	}
	if err := node.RunContext(ctx, os.Args); err != nil {
		fmt.Fprintf(os.Stderr, "node stopped: %v\n", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "node done")
}

func run(c *ucli.Context) error {
	chosen, err := cell.Parse(c.String("cell"))
	if err != nil {
		return err
	}
	plan, err := chosen.Topology(cell.Options{
		Topic: c.String("topic"), OutOfRange: topology.RangePolicy{Skip: c.Bool("skip")},
	}).Plan()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	broker, err := kafka.Open(c.Context, kafka.Config{Seeds: []string{c.String("kafka")}, Log: log})
	if err != nil {
		return err
	}
	defer broker.Close()
	if err := fixBuckets(c.Context, broker, plan); err != nil {
		return err
	}
	store, err := postgres.Open(c.Context, postgres.Config{
		URL: c.String("postgres"), Topology: plan.Name, Operators: operators(plan), Log: log,
	})
	if err != nil {
		return err
	}
	defer store.Close()
	return worker.Run(c.Context, worker.Config{
		Plan: plan, Topology: store.Topology(), Broker: broker, Store: store, Log: log,
		Lease: c.Duration("lease"), TrimMargin: c.Duration("margin"), UntilCaughtUp: c.Bool("until-caught-up"),
		BatchBytes: 64 << 10, BatchTime: 100 * time.Millisecond, CommitRows: 3000, CommitTime: 200 * time.Millisecond,
	})
}

// fixBuckets tells states without an exchange how many partitions their source has.
func fixBuckets(ctx context.Context, b *kafka.Broker, plan *topology.Plan) error {
	for _, s := range plan.Stages {
		if s.Spout == nil {
			continue
		}
		t, err := b.Topic(ctx, s.Spout.Topic)
		if err != nil {
			return err
		}
		for _, e := range s.Outs {
			if e.Direct {
				e.To.Buckets, e.To.Table.Buckets = t.Partitions, t.Partitions
			}
		}
	}
	return nil
}

// operators are what the database remembers of the plan.
func operators(plan *topology.Plan) []postgres.Operator {
	var all []postgres.Operator
	for _, s := range plan.Stages {
		if s.Spout != nil {
			all = append(all, postgres.Operator{ID: s.Operator})
		}
		for _, e := range s.Outs {
			k := e.To
			all = append(all, postgres.Operator{ID: k.Operator, Buckets: k.Buckets, Signature: k.Signature, Table: k.Table})
		}
	}
	return all
}
