package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	ucli "github.com/urfave/cli/v2"

	"github.com/selfregulating/sr/runtime/vitals"
	"github.com/selfregulating/sr/runtime/worker"
)

// shortestLease leaves a heartbeat, sent every third of it, time for a round trip.
const shortestLease = 100 * time.Millisecond

func (a *app) runCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "run",
		Usage:     "run a topology in this process",
		ArgsUsage: a.argsOfTopologies(),
		Description: describe(
			"Runs all of a topology: reads its topics, and keeps its tables in Postgres, where they can be queried\n"+
				"at any time. The schema sr and the tables are made if they are missing. SIGTERM or Ctrl-C drains: what\n"+
				"was read is committed, and the next run goes on there. While one run of a topology is alive, a second\n"+
				"is refused; after a crash the next run takes over once the lease has ended.",
			"sr run -f topology.yaml --kafka localhost:9092 --postgres postgres://user@localhost/app",
			"SR_KAFKA=localhost:9092 SR_POSTGRES=postgres://user@localhost/app sr run -f topology.yaml --until-caught-up",
		),
		Flags: []ucli.Flag{
			fileFlag,
			&ucli.StringFlag{Name: "kafka", EnvVars: []string{"SR_KAFKA"}, Usage: "brokers to ask first, `HOST:PORT`[,HOST:PORT]"},
			&ucli.StringFlag{Name: "postgres", EnvVars: []string{"SR_POSTGRES"}, Usage: "database that holds the state, a postgres:// `URL`"},
			&ucli.BoolFlag{Name: "until-caught-up", Usage: "end once all input present at the start is committed"},
			&ucli.StringFlag{Name: "metrics", Usage: "serve Prometheus metrics (/metrics) and /healthz at `ADDR`, as HOST:PORT"},
			&ucli.DurationFlag{Name: "lease", Value: 3 * time.Second, Usage: "how `LONG` the run may be silent before another may take over"},
			&ucli.StringFlag{Name: "log-format", Value: "text", Usage: "`FORM` of the log: text or json"},
			&ucli.StringFlag{Name: "log-level", Value: "info", Usage: "least `LEVEL` logged: debug, info, warn or error"},
		},
		Action: func(c *ucli.Context) error { return asAsked(c, a.runTopology(c)) },
	}
}

// asAsked judges the end of a run that was told to stop. To have drained is what was asked, and so is
// to stop while there was nothing to drain yet; but input that was to be caught up with may be left.
func asAsked(c *ucli.Context, err error) error {
	stopped := c.Err()
	switch {
	case stopped == nil:
		return err
	case c.Bool("until-caught-up") && err == nil:
		return context.Cause(c.Context)
	case !c.Bool("until-caught-up") && (errors.Is(err, stopped) || errors.Is(err, context.Cause(c.Context))):
		return nil
	}
	return err
}

// runTopology is straight: check what can be checked alone, then Kafka, then Postgres, then run.
func (a *app) runTopology(c *ucli.Context) error {
	log, err := a.logger(c)
	if err != nil {
		return err
	}
	plan, err := a.chosenTopology(c)
	if err != nil {
		return err
	}
	ends, err := endpointsOf(c)
	if err != nil {
		return err
	}
	if lease := c.Duration("lease"); lease < shortestLease {
		return wrongUsage(c, "the lease is %s; it must be %s or more", lease, shortestLease)
	}
	counters := new(vitals.Container)
	if address := c.String("metrics"); address != "" {
		exporter, err := listenMetrics(c, address, newCollector(plan.Name, counters))
		if err != nil {
			return err
		}
		defer exporter.serve(log)()
	}
	for _, warning := range plan.Warnings {
		log.Warn(warning, "topology", plan.Name)
	}

	broker, err := openBroker(c, ends, plan, log)
	if err != nil {
		return err
	}
	defer broker.Close()
	store, err := openStore(c.Context, ends, plan, log)
	if err != nil {
		return err
	}
	defer store.Close()
	err = worker.Run(c.Context, worker.Config{
		Plan: plan, Topology: store.Topology(), Broker: broker, Store: store,
		Lease: c.Duration("lease"), UntilCaughtUp: c.Bool("until-caught-up"),
		Log: log, Vitals: counters,
	})
	if err == nil {
		logEnd(c.Context, log, counters)
	}
	return err
}

// logger makes the log that --log-format and --log-level ask for.
func (a *app) logger(c *ucli.Context) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.String("log-level"))); err != nil {
		return nil, wrongUsage(c, "log level %q is unknown; use debug, info, warn or error", c.String("log-level"))
	}
	switch form := c.String("log-format"); form {
	case "text":
		return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: level})), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.Err, &slog.HandlerOptions{Level: level, ReplaceAttr: forPrograms})), nil
	default:
		return nil, wrongUsage(c, "log format %q is unknown; use text or json", form)
	}
}

// forPrograms gives JSON times in seconds, and names where values have one.
func forPrograms(_ []string, attr slog.Attr) slog.Attr {
	switch v := attr.Value.Any().(type) {
	case time.Duration:
		attr.Value = slog.Float64Value(v.Seconds())
	case slog.Level, time.Time:
	case fmt.Stringer:
		attr.Value = slog.StringValue(v.String())
	}
	return attr
}

// logEnd says what a run did. Dead letters are told loudly: they are input that was not counted.
func logEnd(ctx context.Context, log *slog.Logger, counters *vitals.Container) {
	why := "caught up"
	if ctx.Err() != nil {
		why = "drained"
	}
	var records, batches, letters int64
	for _, i := range counters.Instances() {
		batches += i.Batches.Load()
		records += i.Records.Load()
		letters += i.DeadLetters.Load()
	}
	log.Info("run ended", "because", why, "records_and_blocks", records, "batches", batches)
	if letters > 0 {
		log.Warn("records could not be processed and are in the table sr.dead_letter, with the reasons", "dead_letters", letters)
	}
}
