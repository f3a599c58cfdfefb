package demo

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/selfregulating/sr/connectors/kafka/kafkalocal"
	"github.com/selfregulating/sr/connectors/postgres/pglocal"
)

// servers are the broker and the database, each a process of its own.
type servers struct {
	kafka    *kafkalocal.Server
	postgres *pglocal.Server
}

// startServers starts both at once, or neither.
func startServers(ctx context.Context, cfg Config, in folder, show *screen) (*servers, error) {
	show.say("Starting Kafka and Postgres in %s", in.dir)
	var s servers
	starting, each := errgroup.WithContext(ctx)
	starting.Go(func() (err error) {
		s.kafka, err = kafkalocal.Start(each, kafkalocal.Config{Dir: in.kafka(), Command: cfg.Kafka})
		return err
	})
	starting.Go(func() (err error) {
		s.postgres, err = startPostgres(each, in, show)
		return err
	})
	if err := starting.Wait(); err != nil {
		return nil, &StartError{errors.Join(err, s.stop())}
	}
	return &s, nil
}

func startPostgres(ctx context.Context, in folder, show *screen) (*pglocal.Server, error) {
	fetching := show.progress("Fetching Postgres " + pglocal.DefaultVersion)
	cfg := pglocal.Config{Dir: in.postgres(), Progress: fetching.set}
	if in.temporary {
		// What goes away with this run need not survive the machine.
		cfg.Settings = map[string]string{"fsync": "off", "full_page_writes": "off"}
	}
	var err error
	cfg.Binaries, err = pglocal.Find(ctx, cfg)
	fetching.end()
	if err != nil {
		return nil, err
	}
	show.say("Postgres %s: %s", cfg.Binaries.Version, cfg.Binaries.Postgres)
	return pglocal.Start(ctx, cfg)
}

// stop ends both; ctx is of no use here, since it is often over.
func (s *servers) stop() error {
	var stopping errgroup.Group
	var kafka, postgres error
	stopping.Go(func() error {
		if s.kafka != nil {
			kafka = s.kafka.Stop(context.Background())
		}
		return nil
	})
	stopping.Go(func() error {
		if s.postgres != nil {
			postgres = s.postgres.Stop(context.Background())
		}
		return nil
	})
	return errors.Join(stopping.Wait(), kafka, postgres)
}
