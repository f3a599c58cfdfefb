package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/runtime/broker"
)

// appender is one idempotent producer; any number of instances may share it.
type appender struct {
	b       *Broker
	cl      *kgo.Client
	max     int32
	timeout time.Duration
}

var errGivenUpBefore = errors.New("another block that is before it in the partition was given up")

// NewAppender opens an idempotent producer that waits for all in-sync replicas.
func (b *Broker) NewAppender(cfg broker.AppenderConfig) (broker.Appender, error) {
	if cfg.MaxMessageBytes == 0 {
		cfg.MaxMessageBytes = maxMessageBytes
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	cl, err := kgo.NewClient(append(b.opts[:len(b.opts):len(b.opts)],
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(cfg.MaxMessageBytes),
		// Blocks are dense already, and a batch waits for its last ack: latency is what counts.
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerLinger(0),
		// A produce whose answer is lost is given up like any other. It may be in the log twice after
		// that, which is harmless: whoever gives up a block closes its writer.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.ProduceRequestTimeout(min(cfg.Timeout, 10*time.Second)),
		kgo.UnknownTopicRetries(4),
	)...)
	if err != nil {
		return nil, fmt.Errorf("opening a Kafka producer: %w", err)
	}
	return &appender{b: b, cl: cl, max: cfg.MaxMessageBytes, timeout: cfg.Timeout}, nil
}

// Append produces value. The client calls back once for every record, also when it is closed. The time
// is bounded by a context: the client's own limit is only looked at when a broker has answered. Giving up
// a block gives up those behind it in its partition, whoever appended them: order is kept.
func (a *appender) Append(ctx context.Context, topic string, partition int32, value []byte, done func(error)) {
	bounded, cancel := context.WithTimeout(ctx, a.timeout)
	a.cl.Produce(bounded, &kgo.Record{Topic: topic, Partition: partition, Value: value}, func(_ *kgo.Record, err error) {
		cancel()
		switch {
		case err == nil:
			done(nil)
		case errors.Is(err, context.Canceled) && ctx.Err() == nil:
			done(a.notStored(topic, partition, len(value), errGivenUpBefore))
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			go func() { done(a.notStored(topic, partition, len(value), a.timedOut(topic, partition))) }()
		default:
			done(a.notStored(topic, partition, len(value), a.reason(topic, err)))
		}
	})
}

// Close gives pending appends up: their outcome is unknown.
func (a *appender) Close() { a.cl.Close() }

func (a *appender) notStored(topic string, partition int32, size int, err error) error {
	return fmt.Errorf("appending %d bytes to %s[%d]: %w", size, topic, partition, err)
}

// diagnosis bounds the look for the reason of a timeout.
const diagnosis = 2 * time.Second

// timedOut looks for the reason of a timeout: the client retries what may pass, and forgets why.
func (a *appender) timedOut(topic string, partition int32) error {
	ctx, cancel := context.WithTimeout(context.Background(), diagnosis)
	defer cancel()
	l, err := a.b.describe(ctx, a.b.cl, topic)
	at := l.partitions[partition]
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = a.b.cfg.explain(strings.Join(a.b.cfg.Seeds, ", "), err)
	case err != nil:
	case at.leader == noLeader:
		err = errNoLeader
	case at.inSync < at.replicas:
		err = fmt.Errorf("%w: %d of the %d copies of the partition are in sync, which may be fewer than min.insync.replicas; is a broker down?", broker.ErrUnreachable, at.inSync, at.replicas)
	default:
		err = fmt.Errorf("%w: the leader of the partition, broker %d, is there but does not take it; is its disk full or slow? See the broker's log", broker.ErrFull, at.leader)
	}
	return fmt.Errorf("given up after %s: %w", a.timeout, err)
}

func (a *appender) reason(topic string, err error) error {
	switch {
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return fmt.Errorf("%w: it is larger than the %d bytes of the appender or than max.message.bytes of the topic (%w)", broker.ErrFull, a.max, err)
	case errors.Is(err, kerr.KafkaStorageError):
		return fmt.Errorf("%w: the disk of the partition's leader is full or broken; see the broker's log (%w)", broker.ErrFull, err)
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fmt.Errorf("%w: our user needs the ACL operation Write on topic %s (%w)", broker.ErrNoPermission, topic, err)
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		return fmt.Errorf("%w (%w)", broker.ErrNoTopic, err)
	case errors.Is(err, kgo.ErrClientClosed), errors.Is(err, context.Canceled):
		return err
	case isDial(err):
		return fmt.Errorf("%w (%w)", broker.ErrUnreachable, err)
	}
	return err
}
