package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	ucli "github.com/urfave/cli/v2"

	"github.com/selfregulating/sr/connectors/kafka"
	"github.com/selfregulating/sr/connectors/postgres"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/topology"
)

// openBroker connects to Kafka and looks at every source topic, before anything is made anywhere.
func openBroker(c *ucli.Context, e endpoints, plan *topology.Plan, log *slog.Logger) (*kafka.Broker, error) {
	b, err := kafka.Open(c.Context, kafkaConfig(e, plan.Kafka, log))
	if err != nil {
		if errors.Is(err, broker.ErrUnreachable) || c.Err() != nil {
			return nil, fmt.Errorf("connecting to Kafka: %w", err)
		}
		return nil, wrongUsage(c, "connecting to Kafka: %w", err) // a Config that cannot work
	}
	for _, s := range plan.Stages {
		if s.Spout == nil {
			continue
		}
		if err := findSource(c.Context, b, s); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

// findSource looks for the topic of a spout. Where state is kept by source partition, the plan
// learns here how many there are.
func findSource(ctx context.Context, b *kafka.Broker, s *topology.Stage) error {
	topic, err := b.Topic(ctx, s.Spout.Topic)
	if errors.Is(err, broker.ErrNoTopic) {
		return fmt.Errorf("spout %s: %w; create the topic, or name another in the topology", s.Spout.ID, err)
	}
	if err != nil {
		return fmt.Errorf("spout %s: %w", s.Spout.ID, err)
	}
	for _, edge := range s.Outs {
		if edge.Direct {
			edge.To.Buckets, edge.To.Table.Buckets = topic.Partitions, topic.Partitions
		}
	}
	return nil
}

func kafkaConfig(e endpoints, settings *topology.KafkaSettings, log *slog.Logger) kafka.Config {
	config := kafka.Config{Seeds: e.kafka, Log: log}
	if settings == nil {
		return config
	}
	if t := settings.TLS; t != nil {
		config.TLS = &kafka.TLS{CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile, ServerName: t.ServerName, Insecure: t.Insecure}
	}
	if s := settings.SASL; s != nil {
		config.SASL = &kafka.SASL{Mechanism: s.Mechanism, User: s.User, PasswordFile: s.PasswordFile}
	}
	return config
}

// openStore connects to Postgres, applies migrations, and makes the tables of the topology.
func openStore(ctx context.Context, e endpoints, plan *topology.Plan, log *slog.Logger) (*postgres.Store, error) {
	s, err := postgres.Open(ctx, postgres.Config{
		URL: e.postgres, Topology: plan.Name, Operators: operators(plan), Log: log,
	})
	if err != nil {
		return nil, &environmentError{err}
	}
	return s, nil
}

// operators are what the database remembers of a plan: its spouts, and what keeps state.
func operators(plan *topology.Plan) []postgres.Operator {
	var all []postgres.Operator
	for _, s := range plan.Stages {
		if s.Spout != nil {
			all = append(all, postgres.Operator{ID: s.Operator})
		}
		for _, edge := range s.Outs {
			if edge.Direct {
				all = append(all, stateful(edge.To))
			}
		}
		if s.Keyed != nil {
			all = append(all, stateful(s.Keyed))
		}
	}
	return all
}

func stateful(k *topology.Keyed) postgres.Operator {
	return postgres.Operator{ID: k.Operator, Buckets: k.Buckets, Signature: k.Signature, Table: k.Table}
}
