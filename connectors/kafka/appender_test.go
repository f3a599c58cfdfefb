package kafka_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/selfregulating/sr/connectors/kafka"
	"github.com/selfregulating/sr/runtime/broker"
)

func TestAppendFailsOnceWithTheReason(t *testing.T) {
	for _, c := range []struct {
		fault *kerr.Error
		want  error
	}{
		{kerr.KafkaStorageError, broker.ErrFull},
		{kerr.MessageTooLarge, broker.ErrFull},
		{kerr.TopicAuthorizationFailed, broker.ErrNoPermission},
		{kerr.NotEnoughReplicas, broker.ErrFull},
		{kerr.RequestTimedOut, broker.ErrFull},
	} {
		t.Run(c.fault.Message, func(t *testing.T) {
			cluster := fake(t, kfake.SeedTopics(1, "t"))
			cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: c.fault, Count: -1})
			a := appender(t, cluster, broker.AppenderConfig{Timeout: time.Second})
			var calls atomic.Int64
			done := make(chan error, 2)
			a.Append(t.Context(), "t", 0, []byte("x"), func(err error) { calls.Add(1); done <- err })
			if err := <-done; !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			a.Close()
			if calls.Load() != 1 {
				t.Fatalf("done was called %d times", calls.Load())
			}
		})
	}
}

func appender(t testing.TB, c *kfake.Cluster, cfg broker.AppenderConfig) broker.Appender {
	t.Helper()
	a, err := open(t, kafka.Config{Seeds: c.ListenAddrs()}).NewAppender(cfg)
	must(t, err)
	t.Cleanup(a.Close)
	return a
}

func TestAppendSurvivesAPassingError(t *testing.T) {
	c := fake(t, kfake.SeedTopics(1, "t"))
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotLeaderForPartition, Count: 2})
	done := make(chan error, 1)
	appender(t, c, broker.AppenderConfig{}).Append(t.Context(), "t", 0, []byte("x"), func(err error) { done <- err })
	must(t, <-done)
}

// stall swallows produces, so that their outcome stays unknown.
func stall(c *kfake.Cluster) (asked chan struct{}) {
	asked = make(chan struct{}, 100)
	release := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		asked <- struct{}{}
		c.SleepControl(func() { <-release })
		return nil, nil, false
	})
	return asked
}

func TestAppendWithoutAnswerIsGivenUp(t *testing.T) {
	for _, how := range []string{"timeout", "close", "context"} {
		t.Run(how, func(t *testing.T) {
			c := fake(t, kfake.SeedTopics(1, "t"))
			asked := stall(c)
			cfg := broker.AppenderConfig{Timeout: time.Hour}
			if how == "timeout" {
				cfg.Timeout = time.Second
			}
			a := appender(t, c, cfg)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 2)
			a.Append(ctx, "t", 0, []byte("x"), func(err error) { done <- err })
			<-asked
			switch how {
			case "close":
				go a.Close()
			case "context":
				cancel()
			}
			if err := <-done; err == nil {
				t.Fatal("an append whose outcome is unknown was called stored")
			}
		})
	}
}

func TestAppendToBrokersThatAreGoneIsUnreachable(t *testing.T) {
	c := fake(t, kfake.SeedTopics(1, "t"))
	a := appender(t, c, broker.AppenderConfig{Timeout: time.Second})
	c.Close()
	done := make(chan error, 2)
	a.Append(t.Context(), "t", 0, []byte("x"), func(err error) { done <- err })
	if err := <-done; !errors.Is(err, broker.ErrUnreachable) {
		t.Fatalf("got %v, want ErrUnreachable", err)
	}
}

func TestAppendBehindOneThatWasGivenUpSaysSo(t *testing.T) {
	c := fake(t, kfake.SeedTopics(1, "t"))
	asked := stall(c)
	a := appender(t, c, broker.AppenderConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	a.Append(ctx, "t", 0, []byte("x"), func(err error) { first <- err })
	<-asked
	a.Append(t.Context(), "t", 0, []byte("y"), func(err error) { second <- err })
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the block whose context ended: got %v", err)
	}
	if err := <-second; err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("the block behind it: got %v, want an error that is not a cancellation", err)
	}
}
