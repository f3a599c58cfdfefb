package kafka_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/selfregulating/sr/connectors/kafka"
	"github.com/selfregulating/sr/runtime/broker"
)

func password(t testing.TB, word string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(file, []byte(word+"\n"), 0o600))
	return file
}

// refusal opens with cfg, which must fail in words that say part, and not the password.
func refusal(t testing.TB, cfg kafka.Config, part string) {
	t.Helper()
	b, err := kafka.Open(t.Context(), cfg)
	if err == nil {
		b.Close()
		t.Fatal("opened")
	}
	if !errors.Is(err, broker.ErrUnreachable) {
		t.Errorf("%v is not ErrUnreachable", err)
	}
	for _, want := range []string{part, cfg.Seeds[0]} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("%q tells the password", err)
	}
}

func TestOpenNeedsAnAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	free := l.Addr().String()
	mute := free
	t.Run("from a port where somebody is silent", func(t *testing.T) {
		refusal(t, kafka.Config{Seeds: []string{mute}, Timeout: 200 * time.Millisecond}, "no answer in time")
	})
	must(t, l.Close())
	t.Run("not from a closed port", func(t *testing.T) {
		refusal(t, kafka.Config{Seeds: []string{free}}, "connection refused")
	})
	t.Run("from one of several brokers", func(t *testing.T) {
		open(t, kafka.Config{Seeds: append([]string{free}, fake(t).ListenAddrs()...)})
	})
}

func TestOpenRefusesAConfigThatCannotWork(t *testing.T) {
	for part, cfg := range map[string]kafka.Config{
		"no Kafka broker is named": {},
		"HOST:PORT":                {Seeds: []string{"localhost"}},
		"SCRAM-SHA-512":            {Seeds: []string{"h:1"}, SASL: &kafka.SASL{Mechanism: "GSSAPI", PasswordFile: password(t, "secret")}},
		"reading the password of u": {Seeds: []string{"h:1"}, SASL: &kafka.SASL{
			Mechanism: "PLAIN", User: "u", PasswordFile: filepath.Join(t.TempDir(), "none"),
		}},
		"no certificate in PEM form":   {Seeds: []string{"h:1"}, TLS: &kafka.TLS{CAFile: password(t, "secret")}},
		"both its certificate file":    {Seeds: []string{"h:1"}, TLS: &kafka.TLS{CertFile: "cert.pem"}},
		"loading the client certifica": {Seeds: []string{"h:1"}, TLS: &kafka.TLS{CertFile: "none.pem", KeyFile: "none.pem"}},
	} {
		if _, err := kafka.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want it to say %q", err, part)
		}
	}
}

func TestOpenAuthenticates(t *testing.T) {
	c := fake(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "sr", "secret"),
		kfake.Superuser("SCRAM-SHA-256", "sr", "secret"), kfake.Superuser("SCRAM-SHA-512", "sr", "secret"))
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			cfg := kafka.Config{Seeds: c.ListenAddrs(), SASL: &kafka.SASL{Mechanism: mechanism, User: "sr", PasswordFile: password(t, "secret")}}
			_, err := open(t, cfg).Topic(t.Context(), "none")
			if !errors.Is(err, broker.ErrNoTopic) {
				t.Fatal(err)
			}
			cfg.SASL.PasswordFile = password(t, "secret but wrong")
			refusal(t, cfg, `user "sr"`)
		})
	}
	t.Run("without credentials", func(t *testing.T) {
		refusal(t, kafka.Config{Seeds: c.ListenAddrs()}, "kafka.sasl")
	})
}

func TestOpenSpeaksTLS(t *testing.T) {
	ca, serving := certificate(t)
	secure := fake(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{serving}})).ListenAddrs()
	plaintext := fake(t).ListenAddrs()

	open(t, kafka.Config{Seeds: secure, TLS: &kafka.TLS{CAFile: ca}})
	open(t, kafka.Config{Seeds: secure, TLS: &kafka.TLS{Insecure: true}})
	refusal(t, kafka.Config{Seeds: secure, TLS: &kafka.TLS{}}, "authority that is not trusted")
	refusal(t, kafka.Config{Seeds: secure, TLS: &kafka.TLS{CAFile: ca, ServerName: "kafka.example"}}, "for another name")
	refusal(t, kafka.Config{Seeds: secure}, "kafka.tls")
	refusal(t, kafka.Config{Seeds: plaintext, TLS: &kafka.TLS{CAFile: ca}, Timeout: 200 * time.Millisecond}, "is it a TLS port?")
}

func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := kafka.Open(ctx, kafka.Config{Seeds: fake(t).ListenAddrs()})
	if !errors.Is(err, context.Canceled) || errors.Is(err, broker.ErrUnreachable) {
		t.Fatalf("got %v, want only that the context was cancelled", err)
	}
}

// certificate makes one for 127.0.0.1 that signs itself, and a file that says to trust it.
func certificate(t testing.TB) (ca string, serving tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "broker"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return ca, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
