//go:build kafka

package kafkatest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/selfregulating/sr/connectors/kafka/kafkatest"
)

func start(t *testing.T, cfg kafkatest.Config) *kafkatest.Broker {
	t.Helper()
	cfg.Log = os.Stderr
	b, err := kafkatest.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Kill(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func connect(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func createTopic(t *testing.T, client *kgo.Client, topic string) {
	t.Helper()
	if _, err := kadm.NewClient(client).CreateTopic(within(t), 1, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
}

func produce(t *testing.T, client *kgo.Client, topic, value string) {
	t.Helper()
	record := &kgo.Record{Topic: topic, Value: []byte(value)}
	if err := client.ProduceSync(within(t), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func consume(t *testing.T, addr, topic string) (values []string) {
	t.Helper()
	client := connect(t, kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic))
	fetches := client.PollFetches(within(t))
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	for _, r := range fetches.Records() {
		values = append(values, string(r.Value))
	}
	return values
}

func expectRecord(t *testing.T, addr, topic, want string) {
	t.Helper()
	if got := consume(t, addr, topic); len(got) != 1 || got[0] != want {
		t.Fatalf("%s holds %q, want one record %q", topic, got, want)
	}
}

func TestRecordsOutliveKillStopAndANewBrokerOnTheSameData(t *testing.T) {
	dir := t.TempDir()
	b := start(t, kafkatest.Config{Dir: dir, Heap: "512m"})
	client := connect(t, kgo.SeedBrokers(b.Addr()))
	createTopic(t, client, "greetings")
	produce(t, client, "greetings", "hello")
	expectRecord(t, b.Addr(), "greetings", "hello")

	addr := b.Addr()
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.Addr() != addr {
		t.Fatalf("the broker moved from %s to %s", addr, b.Addr())
	}
	expectRecord(t, addr, "greetings", "hello")

	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	next := start(t, kafkatest.Config{Dir: dir, Heap: "512m"})
	expectRecord(t, next.Addr(), "greetings", "hello")
}

func TestSecuredListenersTakeTheirUserAndNobodyElse(t *testing.T) {
	b := start(t, kafkatest.Config{Dir: t.TempDir(), Heap: "512m", SASL: true, TLS: true})
	trust := trusting(t, b.CAFile())
	mechanisms := func(password string) []sasl.Mechanism {
		who := scram.Auth{User: kafkatest.User, Pass: password}
		return []sasl.Mechanism{
			plain.Auth{User: kafkatest.User, Pass: password}.AsMechanism(),
			who.AsSha256Mechanism(),
			who.AsSha512Mechanism(),
		}
	}
	ping := func(opts ...kgo.Opt) error { return connect(t, opts...).Ping(within(t)) }

	if err := ping(kgo.SeedBrokers(b.AddrOf(kafkatest.TLS)), kgo.DialTLSConfig(trust)); err != nil {
		t.Errorf("TLS: %v", err)
	}
	for _, m := range mechanisms(kafkatest.Password) {
		if err := ping(kgo.SeedBrokers(b.AddrOf(kafkatest.SASLPlaintext)), kgo.SASL(m)); err != nil {
			t.Errorf("%s: %v", m.Name(), err)
		}
		if err := ping(kgo.SeedBrokers(b.AddrOf(kafkatest.SASLTLS)), kgo.DialTLSConfig(trust), kgo.SASL(m)); err != nil {
			t.Errorf("%s over TLS: %v", m.Name(), err)
		}
	}
	for _, m := range mechanisms("wrong") {
		err := ping(kgo.SeedBrokers(b.AddrOf(kafkatest.SASLPlaintext)), kgo.SASL(m))
		if !errors.Is(err, kerr.SaslAuthenticationFailed) {
			t.Errorf("%s with a wrong password: %v, want %v", m.Name(), err, kerr.SaslAuthenticationFailed)
		}
	}
}

func TestAUserCanBeDeniedATopic(t *testing.T) {
	b := start(t, kafkatest.Config{Dir: t.TempDir(), Heap: "512m", SASL: true})
	admin := connect(t, kgo.SeedBrokers(b.Addr()))
	createTopic(t, admin, "secrets")
	rule := kadm.NewACLs().Topics("secrets").ResourcePatternType(kadm.ACLPatternLiteral).
		Operations(kadm.OpRead, kadm.OpWrite).Deny("User:" + kafkatest.User).DenyHosts("*")
	if _, err := kadm.NewClient(admin).CreateACLs(within(t), rule); err != nil {
		t.Fatal(err)
	}
	user := connect(t, kgo.SeedBrokers(b.AddrOf(kafkatest.SASLPlaintext)),
		kgo.SASL(plain.Auth{User: kafkatest.User, Pass: kafkatest.Password}.AsMechanism()))

	err := user.ProduceSync(within(t), &kgo.Record{Topic: "secrets"}).FirstErr()
	if !errors.Is(err, kerr.TopicAuthorizationFailed) {
		t.Fatalf("producing as a denied user: %v, want %v", err, kerr.TopicAuthorizationFailed)
	}
	produce(t, admin, "secrets", "whispered")
}

func TestABrokerThatCannotStartSaysWhy(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	port := taken.Addr().(*net.TCPAddr).Port

	for _, c := range []struct {
		name, want string
		cfg        kafkatest.Config
	}{
		{"no folder", "needs a Dir", kafkatest.Config{}},
		{
			"wrong setting", "num.io.threads",
			kafkatest.Config{Dir: t.TempDir(), Settings: map[string]string{"num.io.threads": "none"}},
		},
		{"port taken", "Address already in use", kafkatest.Config{Dir: t.TempDir(), Port: port}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := kafkatest.Start(t.Context(), c.cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("starting a broker: %v, want an error with %q", err, c.want)
			}
		})
	}
}

func trusting(t *testing.T, caFile string) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatalf("%s holds no certificate", caFile)
	}
	return &tls.Config{RootCAs: pool}
}
