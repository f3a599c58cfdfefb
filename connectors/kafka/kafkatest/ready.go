package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// awaitReady waits until the broker lists itself, or has ended, or time is up.
func (b *Broker) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		return err
	}
	defer client.Close()

	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		err := ask(ctx, kadm.NewClient(client))
		if err == nil {
			return nil
		}
		select {
		case <-b.process.Done():
			return fmt.Errorf("the broker ended; the last lines of %s:\n%s", b.LogFile(), b.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w; the last lines of %s:\n%s",
				b.Addr(), err, b.LogFile(), b.lastWords())
		case <-poll.C:
		}
	}
}

func ask(ctx context.Context, admin *kadm.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	meta, err := admin.BrokerMetadata(ctx)
	if err != nil {
		return err
	}
	if len(meta.Brokers) == 0 {
		return errors.New("it lists no broker yet")
	}
	return nil
}

func (b *Broker) lastWords() string {
	text, err := os.ReadFile(b.LogFile())
	if err != nil {
		return err.Error()
	}
	return gist(text)
}
