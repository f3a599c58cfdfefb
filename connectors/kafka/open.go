package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/selfregulating/sr/runtime/broker"
)

// Broker is a connection to a Kafka cluster.
type Broker struct {
	cfg  Config
	opts []kgo.Opt
	// cl asks for metadata, offsets and settings; readers and appenders have clients of their own,
	// because Kafka answers the requests of a connection one after the other.
	cl *kgo.Client
}

var _ broker.Broker = (*Broker)(nil)

// Open connects to a cluster and returns once one of its brokers has answered; it gives up after
// Config.Timeout. Errors: broker.ErrUnreachable, with the address and the reason, if none answers or
// lets us in; others for a Config that cannot work.
func Open(ctx context.Context, cfg Config) (*Broker, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	b := &Broker{cfg: cfg.withDefaults()}
	var err error
	if b.opts, err = b.cfg.options(); err != nil {
		return nil, err
	}
	if b.cl, err = kgo.NewClient(b.opts...); err != nil {
		return nil, fmt.Errorf("opening a Kafka client: %w", err)
	}
	if err := b.greet(ctx); err != nil {
		b.cl.Close()
		return nil, err
	}
	return b, nil
}

// Close ends the connection. Readers and appenders are closed by themselves.
func (b *Broker) Close() { b.cl.Close() }

// greet asks all seeds at once, so that one that swallows packets does not hold up the others, and
// is content with the first answer.
func (b *Broker) greet(caller context.Context) error {
	ctx, cancel := context.WithTimeout(caller, b.cfg.Timeout)
	defer cancel()

	seeds := b.cl.SeedBrokers()
	answers := make(chan error, len(seeds))
	for i, seed := range seeds {
		go func() {
			_, err := seed.Request(ctx, metadataRequest())
			answers <- b.cfg.explain(b.cfg.Seeds[i], err)
		}()
	}
	var errs []error
	for range seeds {
		err := <-answers
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if caller.Err() != nil {
		return fmt.Errorf("opening Kafka: %w", context.Cause(caller))
	}
	return errors.Join(errs...)
}

// metadataRequest asks for the brokers and for these topics, and creates none.
func metadataRequest(topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // empty means none; nil would mean all
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return req
}
