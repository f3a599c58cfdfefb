package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/selfregulating/sr/runtime/broker"
)

const maxMessageBytes = 8 << 20

var errAppenderClosed = errors.New("the appender is closed")

type appender struct {
	b      *Broker
	max    int
	closed atomic.Bool
}

// NewAppender opens an appender.
func (b *Broker) NewAppender(cfg broker.AppenderConfig) (broker.Appender, error) {
	return &appender{b: b, max: int(cmp.Or(cfg.MaxMessageBytes, maxMessageBytes))}, nil
}

// Append stores value at once. done comes from another goroutine, as Kafka's does: whoever calls
// Append under a lock that done takes is to find out here.
func (a *appender) Append(ctx context.Context, topic string, partition int32, value []byte, done func(error)) {
	err := a.store(ctx, topic, partition, value)
	if err != nil {
		err = fmt.Errorf("appending %d bytes to %s[%d]: %w", len(value), topic, partition, err)
	}
	go done(err)
}

func (a *appender) store(ctx context.Context, topic string, partition int32, value []byte) error {
	switch {
	case a.closed.Load():
		return errAppenderClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case len(value) > a.max:
		return fmt.Errorf("%w: it is larger than %d bytes", broker.ErrFull, a.max)
	}
	return a.b.Produce(topic, partition, broker.Record{Value: value})
}

func (a *appender) Close() { a.closed.Store(true) }
