//go:build kafka

package kafka_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/selfregulating/sr/connectors/kafka"
	"github.com/selfregulating/sr/connectors/kafka/kafkatest"
	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/broker/brokertest"
)

func TestRealBrokerPassesTheSuite(t *testing.T) {
	addr := kafkatest.Addr(t)
	brokertest.Run(t, func(t *testing.T) brokertest.Harness { return harness(t, addr) })
}

// quick makes the cleaner compact a topic within a second or so, and drop tombstones at once.
var quick = []string{
	"cleanup.policy", "compact", "segment.ms", "100", "min.cleanable.dirty.ratio", "0.001",
	"delete.retention.ms", "0", "max.compaction.lag.ms", "200", "min.compaction.lag.ms", "0",
}

func TestRealReaderPassesACompactedRange(t *testing.T) {
	addr := kafkatest.Addr(t)
	f, b := newFeeder(t, addr), open(t, kafka.Config{Seeds: []string{addr}})
	topic := fmt.Sprintf("compacted.%08x", rand.Uint32())
	f.create(t, topic, 1, quick...)
	for i := range 10 {
		f.produce(t, topic, 0, text(fmt.Sprint(i))...)
	}
	rollUntil(t, f, topic, func() bool { return len(readAll(t, b, topic)) < 10 })
	values := readAll(t, b, topic)
	if len(values) == 0 || values[0] == "0" {
		t.Fatalf("got %v, want the first records compacted away", values)
	}
}

// Batches whose records are all gone stay in the log for a while, empty; the position passes them.
func TestRealReaderPassesTombstonesThatWereRemoved(t *testing.T) {
	addr := kafkatest.Addr(t)
	f, b := newFeeder(t, addr), open(t, kafka.Config{Seeds: []string{addr}})
	topic := fmt.Sprintf("tombstones.%08x", rand.Uint32())
	f.create(t, topic, 1, quick...)
	f.produce(t, topic, 0, broker.Record{Key: []byte("kept"), Value: []byte("v")})
	for range 5 {
		f.produce(t, topic, 0, broker.Record{Key: []byte("gone")})
	}
	rollUntil(t, f, topic, func() bool { return !slices.Contains(readAll(t, b, topic), "") })
	if values := readAll(t, b, topic); values[0] != "v" {
		t.Fatalf("got %v, want the record that was not deleted first", values)
	}
}

// rollUntil appends records of one key, each of which may close a segment, until so; the cleaner
// never touches the active segment.
func rollUntil(t *testing.T, f *feeder, topic string, so func() bool) {
	t.Helper()
	eventually(t, "the cleaner has run", func() bool {
		f.produce(t, topic, 0, broker.Record{Key: []byte("roll"), Value: []byte("r")})
		time.Sleep(150 * time.Millisecond)
		return so()
	})
}

// readAll reads a topic from its start to its last stable offset.
func readAll(t *testing.T, b *kafka.Broker, topic string) []string {
	t.Helper()
	r, err := b.NewReader(broker.ReaderConfig{Topic: topic, ReadCommitted: true, MaxWait: 20 * time.Millisecond})
	must(t, err)
	defer r.Close()
	offsets, err := b.Offsets(t.Context(), topic)
	must(t, err)
	r.Seek(0, offsets[0].Start)
	values, next := drain(t, r, offsets[0].Stable)
	if next != offsets[0].Stable {
		t.Fatalf("the position is %d, want the last stable offset %d", next, offsets[0].Stable)
	}
	return values
}

func secured(t *testing.T) *kafkatest.Broker {
	t.Helper()
	b, err := kafkatest.Start(t.Context(), kafkatest.Config{Dir: t.TempDir(), SASL: true, TLS: true, Heap: "512m"})
	must(t, err)
	t.Cleanup(func() { must(t, b.Stop()) })
	return b
}

func TestRealBrokerThatIsSecured(t *testing.T) {
	kafkatest.Addr(t) // skips like the others
	k := secured(t)
	seeds := func(p kafkatest.Protocol) []string { return []string{k.AddrOf(p)} }
	auth := func(mechanism, word string) *kafka.SASL {
		return &kafka.SASL{Mechanism: mechanism, User: kafkatest.User, PasswordFile: password(t, word)}
	}
	trust := &kafka.TLS{CAFile: k.CAFile()}

	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run("lets in by "+mechanism, func(t *testing.T) {
			open(t, kafka.Config{Seeds: seeds(kafkatest.SASLPlaintext), SASL: auth(mechanism, kafkatest.Password)})
			open(t, kafka.Config{Seeds: seeds(kafkatest.SASLTLS), SASL: auth(mechanism, kafkatest.Password), TLS: trust})
			refusal(t, kafka.Config{Seeds: seeds(kafkatest.SASLPlaintext), SASL: auth(mechanism, "secret")},
				fmt.Sprintf("authentication refused for user %q by %s", kafkatest.User, mechanism))
		})
	}
	t.Run("names a wrong port or protocol", func(t *testing.T) {
		quickly := 2 * time.Second
		open(t, kafka.Config{Seeds: seeds(kafkatest.TLS), TLS: trust})
		refusal(t, kafka.Config{Seeds: seeds(kafkatest.TLS), TLS: &kafka.TLS{}, Timeout: quickly}, "authority that is not trusted")
		refusal(t, kafka.Config{Seeds: seeds(kafkatest.TLS), Timeout: quickly}, "kafka.tls")
		refusal(t, kafka.Config{Seeds: seeds(kafkatest.Plaintext), TLS: trust, Timeout: quickly}, "plaintext port")
		refusal(t, kafka.Config{Seeds: seeds(kafkatest.SASLPlaintext), Timeout: quickly}, "kafka.sasl")
		refusal(t, kafka.Config{Seeds: seeds(kafkatest.Plaintext), SASL: auth("PLAIN", kafkatest.Password), Timeout: quickly}, "takes no authentication")
	})
	t.Run("says what is not permitted", func(t *testing.T) {
		f := newFeeder(t, k.Addr())
		f.create(t, "closed", 1)
		f.produce(t, "closed", 0, text("a")...)
		b := open(t, kafka.Config{Seeds: seeds(kafkatest.SASLPlaintext), SASL: auth("PLAIN", kafkatest.Password)})
		rule(t, f, kadm.NewACLs().Allow("User:"+kafkatest.User).AllowHosts("*"), kadm.OpAll)
		deny := kadm.NewACLs().Deny("User:" + kafkatest.User).DenyHosts("*")
		rule(t, f, deny, kadm.OpRead, kadm.OpWrite, kadm.OpDelete)
		forbidden(t, b, "closed")
		rule(t, f, deny, kadm.OpDescribeConfigs)
		ensuring := func(topic string) func() error {
			return func() error {
				_, err := b.EnsureExchange(t.Context(), broker.Exchange{Topic: topic, Buckets: 1})
				return err
			}
		}
		notPermitted(t, "verifying", ensuring("closed"))
		rule(t, f, deny, kadm.OpCreate)
		notPermitted(t, "creating", ensuring("closed.exchange"))
		rule(t, f, deny, kadm.OpDescribe)
		notPermitted(t, "describing", func() error {
			_, err := b.Topic(t.Context(), "closed")
			return err
		})
	})
	t.Run("is read and appended to over a restart", func(t *testing.T) { overARestart(t, k) })
}

// rule adds rules for the topics named closed...
func rule(t *testing.T, f *feeder, acls *kadm.ACLBuilder, ops ...kadm.ACLOperation) {
	t.Helper()
	results, err := f.adm.CreateACLs(t.Context(), acls.Topics("closed").ResourcePatternType(kadm.ACLPatternPrefixed).Operations(ops...))
	must(t, err)
	for _, r := range results {
		must(t, r.Err)
	}
}

// notPermitted waits for ErrNoPermission: a rule takes a moment to reach the broker.
func notPermitted(t *testing.T, what string, do func() error) {
	t.Helper()
	eventually(t, what+" is not permitted", func() bool { return errors.Is(do(), broker.ErrNoPermission) })
}

func forbidden(t *testing.T, b *kafka.Broker, topic string) {
	t.Helper()
	a, err := b.NewAppender(broker.AppenderConfig{})
	must(t, err)
	defer a.Close()
	notPermitted(t, "appending", func() error {
		done := make(chan error, 1)
		a.Append(t.Context(), topic, 0, []byte("x"), func(err error) { done <- err })
		return <-done
	})
	r := reader(t, b, broker.ReaderConfig{Topic: topic})
	r.Seek(0, 0)
	f, err := r.Poll(t.Context())
	must(t, err)
	if len(f.Errors) != 1 || !errors.Is(f.Errors[0].Err, broker.ErrNoPermission) {
		t.Fatalf("reading: got %+v, want ErrNoPermission", f)
	}
	notPermitted(t, "trimming", func() error { return b.Trim(t.Context(), topic, map[int32]runtime.Offset{0: 1}) })
}

// overARestart appends numbered blocks, one after the other, from before the broker is stopped until after
// it is back. Each must be stored, and read once and in order.
func overARestart(t *testing.T, k *kafkatest.Broker) {
	b := open(t, kafka.Config{Seeds: []string{k.Addr()}})
	x := broker.Exchange{Topic: "restarted", Buckets: 1}
	_, err := b.EnsureExchange(t.Context(), x)
	must(t, err)
	a, err := b.NewAppender(broker.AppenderConfig{Timeout: 2 * time.Minute})
	must(t, err)
	defer a.Close()

	const around = 50 // blocks before the stop, and after the start
	var total atomic.Int64
	total.Store(math.MaxInt64)
	restarted := make(chan struct{})
	restart := func() {
		defer close(restarted)
		if err := k.Restart(t.Context()); err != nil {
			t.Error(err)
		}
	}
	var appending sync.WaitGroup
	appending.Go(func() {
		for i := int64(0); i < total.Load(); i++ {
			done := make(chan error, 1)
			a.Append(t.Context(), x.Topic, 0, fmt.Append(nil, i), func(err error) { done <- err })
			if err := <-done; err != nil {
				t.Errorf("block %d: %v", i, err)
			}
			select {
			case <-restarted:
				total.CompareAndSwap(math.MaxInt64, i+around)
			default:
			}
			if i == around {
				go restart()
			}
		}
	})
	r := reader(t, b, broker.ReaderConfig{Topic: x.Topic})
	r.Seek(0, 0)
	var values []string
	for next := int64(0); next < total.Load(); {
		some, at := drain(t, r, next+1)
		values, next = append(values, some...), at
	}
	appending.Wait()
	for i, v := range values {
		if v != fmt.Sprint(i) {
			t.Fatalf("record %d is block %s", i, v)
		}
	}
	t.Logf("%d blocks", len(values))
}
