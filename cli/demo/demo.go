package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/selfregulating/sr/cli/demo/prose"
)

// Place is where to look while the servers run.
type Place struct {
	Kafka, Postgres string // HOST:PORT, and a URL
	Folder          string
	Kept            bool // the folder stays
}

// demo is one run, with everything started.
type demo struct {
	Config
	text    text
	show    *screen
	servers *servers
	log     *slog.Logger
}

// Run runs the demo from the first server's start to the last one's end. With the proof, and the servers still running,
// it calls proved, whose error it returns. Errors: *ArgumentError, *StartError; the cause of
// ctx, if that ended it; others.
func Run(ctx context.Context, cfg Config, proved func(Result, Place) error) (err error) {
	if err := cfg.validate(); err != nil {
		return err
	}
	d := &demo{Config: cfg, show: newScreen(cfg.Screen)}
	d.log = slog.New(slog.NewTextHandler(d.show, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if d.text, err = openText(cfg); err != nil {
		return err
	}
	defer d.text.close()
	in, err := openFolder(cfg.Keep)
	if err != nil {
		return err
	}
	err = d.in(ctx, in, proved)
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx) // whatever went wrong on the way out
	}
	return d.also(err, in.remove())
}

// also keeps the error of the way out from hiding the one before it.
func (d *demo) also(err, later error) error {
	if err != nil && later != nil {
		d.show.say("Also: %v", later)
		return err
	}
	return errors.Join(err, later)
}

func (d *demo) in(ctx context.Context, in folder, proved func(Result, Place) error) (err error) {
	if d.servers, err = startServers(ctx, d.Config, in, d.show); err != nil {
		return err
	}
	defer func() { err = d.also(err, d.servers.stop()) }()
	at := Place{Kafka: d.servers.kafka.Addr(), Postgres: d.servers.postgres.URL(), Folder: in.dir, Kept: !in.temporary}
	d.show.say("Kafka: %s\nPostgres: %s\nLook for yourself: psql '%s' -c 'SELECT * FROM word_counts ORDER BY count DESC LIMIT 10'",
		at.Kafka, at.Postgres, at.Postgres)
	result, err := d.count(ctx, at)
	if err != nil {
		return err
	}
	return proved(result, at)
}

// count feeds the text and counts it, and compares the table with the text.
func (d *demo) count(ctx context.Context, at Place) (Result, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(at.Kafka), kgo.DefaultProduceTopic(topic))
	if err != nil {
		return Result{}, fmt.Errorf("opening a Kafka client: %w", err)
	}
	defer cl.Close()
	db, err := pgx.Connect(ctx, at.Postgres)
	if err != nil {
		return Result{}, fmt.Errorf("connecting to Postgres: %w", err)
	}
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()
	t, err := d.resume(ctx, cl, at)
	if err != nil {
		return Result{}, err
	}
	earlier := t.records
	f := &feeder{cl: cl, text: d.text, rate: d.Rate, truth: t}
	f.note()
	w := &watcher{db: db, feeder: f, show: d.show, earlier: t.bytes}

	start := time.Now()
	if err := d.together(ctx, at, f, w); err != nil {
		return Result{}, err
	}
	took := time.Since(start)
	if err := d.finish(ctx, at); err != nil {
		return Result{}, err
	}
	result, err := prove(ctx, db, t)
	if err == nil && result.DeadLetters > 0 {
		err = d.tellLetters(ctx, db, result.DeadLetters)
	}
	result.Seconds, result.ResumedRecords = took.Seconds(), earlier
	return result, err
}

func (d *demo) tellLetters(ctx context.Context, db *pgx.Conn, n int64) error {
	reasons, err := letters(ctx, db)
	if err != nil {
		return err
	}
	d.show.say("Dead letters: %s (table sr.dead_letter), such as", thousands(n))
	for _, reason := range reasons {
		d.show.say("  %s", reason)
	}
	return nil
}

// resume makes the topic, and counts what earlier runs left in it.
func (d *demo) resume(ctx context.Context, cl *kgo.Client, at Place) (*truth, error) {
	ends, err := ensureTopic(ctx, cl)
	if err != nil {
		return nil, err
	}
	t := newTruth()
	if err := countEarlier(ctx, at.Kafka, ends, t); err != nil {
		return nil, err
	}
	if t.records > 0 {
		d.show.say("Resuming: earlier runs fed %s records with %s words; what they counted stays, and the word count goes on where it stopped",
			thousands(t.records), thousands(t.words))
	}
	if made, ok := d.text.(*madeText); ok {
		made.from = prose.New(uint64(1 + t.records))
	}
	return t, nil
}

// together runs the word count while the text is fed and the counts are watched, until all is counted.
func (d *demo) together(ctx context.Context, at Place, f *feeder, w *watcher) error {
	defer d.show.keep()
	all, ctx := errgroup.WithContext(ctx)
	counting, counted := context.WithCancel(ctx)
	defer counted()
	all.Go(func() error {
		err := d.Count(counting, Job{Kafka: at.Kafka, Postgres: at.Postgres, Log: d.log})
		switch {
		case err == nil && counting.Err() == nil:
			return errors.New("the word count ended before the text did")
		case errors.Is(err, context.Canceled) && ctx.Err() == nil:
			return nil // it was stopped before it had begun: there was nothing to count
		}
		return err
	})
	all.Go(func() error { return f.run(ctx) })
	all.Go(func() error {
		defer counted()
		return w.run(ctx)
	})
	return all.Wait()
}

// finish runs the word count once more, until it has caught up with its topics to their ends: then nothing is on its way
// any more that could change the table behind the proof.
func (d *demo) finish(ctx context.Context, at Place) error {
	return d.Count(ctx, Job{Kafka: at.Kafka, Postgres: at.Postgres, UntilCaughtUp: true, Log: d.log})
}
