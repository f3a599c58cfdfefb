package bench

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/selfregulating/sr/connectors/kafka/kafkalocal"
	"github.com/selfregulating/sr/connectors/postgres/pglocal"
)

// servers are the broker and the database of a run; pid 0 is one that is not ours, whose processor
// time is not known.
type servers struct {
	kafka             []string
	postgres          string
	kafkaPID, pgPID   int
	stopKafka, stopPG func() error
}

// startServers starts what the configuration does not name.
func startServers(ctx context.Context, c *Config) (*servers, error) {
	s := &servers{kafka: c.Kafka, postgres: c.Postgres}
	if len(s.kafka) == 0 {
		k, err := kafkalocal.Start(ctx, kafkalocal.Config{Dir: filepath.Join(c.Dir, "kafka"), Command: []string{"internal", "kafka"}, Log: c.Log})
		if err != nil {
			return nil, fmt.Errorf("starting a broker: %w", err)
		}
		s.kafka, s.kafkaPID, s.stopKafka = []string{k.Addr()}, k.Pid(), func() error { return k.Stop(context.Background()) }
	}
	if s.postgres == "" {
		p, err := pglocal.Start(ctx, pglocal.Config{
			Dir:      filepath.Join(c.Dir, "postgres"),
			Settings: map[string]string{"shared_buffers": "1GB", "max_wal_size": "4GB"},
		})
		if err != nil {
			s.stop()
			return nil, fmt.Errorf("starting Postgres: %w", err)
		}
		s.postgres, s.pgPID = p.URL(), p.Pid()
		s.stopPG = func() error { return p.Stop(context.Background()) }
	}
	return s, nil
}

func (s *servers) stop() {
	for _, f := range []func() error{s.stopPG, s.stopKafka} {
		if f != nil {
			_ = f() // a process that does not stop ends with this one
		}
	}
}

// cleanUp removes what the benchmark's topology left in a database that is not ours.
func cleanUp(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connecting to Postgres: %w", err)
	}
	defer conn.Close(ctx)
	for _, sql := range []string{
		"DROP VIEW IF EXISTS public.sr_bench_counts",
		"DROP TABLE IF EXISTS sr_state.srbench__counts",
		"DELETE FROM sr.topology WHERE name = 'srbench'",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("cleaning up with %q: %w", sql, err)
		}
	}
	return nil
}
