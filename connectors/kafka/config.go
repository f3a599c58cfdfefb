package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Config says how to reach a Kafka cluster.
type Config struct {
	// Seeds are the brokers to ask first, each HOST:PORT; the others are learned from them.
	Seeds []string
	// TLS is nil for plaintext.
	TLS *TLS
	// SASL is nil for no authentication.
	SASL *SASL
	// ClientID names us in the broker's logs and quotas (default "sr").
	ClientID string
	// Timeout bounds Open and each request for metadata, offsets or settings (default 10 s).
	Timeout time.Duration
	// Log takes the client's messages at debug level; nil drops them.
	Log *slog.Logger
}

// TLS says how to encrypt; its zero value trusts the system's authorities.
type TLS struct {
	// CAFile is a PEM file of the authorities to trust instead of the system's.
	CAFile string
	// CertFile and KeyFile are our own certificate and key, if the broker asks for them.
	CertFile, KeyFile string
	// ServerName is the name expected in the broker's certificate (default: the host dialled).
	ServerName string
	// Insecure accepts any certificate.
	Insecure bool
}

// SASL says how to authenticate.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
	Mechanism string
	User      string
	// PasswordFile holds the password; a line break at its end is not part of it.
	PasswordFile string
}

func (c Config) withDefaults() Config {
	if c.ClientID == "" {
		c.ClientID = "sr"
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c Config) validate() error {
	if len(c.Seeds) == 0 {
		return errors.New("no Kafka broker is named; give at least one as HOST:PORT")
	}
	for _, seed := range c.Seeds {
		if host, port, err := net.SplitHostPort(seed); err != nil || host == "" || port == "" {
			return fmt.Errorf("%q is not the address of a Kafka broker; write HOST:PORT", seed)
		}
	}
	return nil
}

// options answers what every client of ours is opened with.
func (c Config) options() ([]kgo.Opt, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Seeds...),
		kgo.ClientID(c.ClientID),
		kgo.WithLogger(debugLog{c.Log}),
		kgo.DialTimeout(c.Timeout),
		kgo.RetryTimeout(c.Timeout),
		kgo.RequestTimeoutOverhead(c.Timeout),
		kgo.RetryBackoffFn(backoff),
		kgo.MetadataMinAge(100 * time.Millisecond),
		// A broker that is being restarted closes fresh connections too.
		kgo.AlwaysRetryEOF(),
	}
	if c.TLS != nil {
		config, err := c.TLS.config()
		if err != nil {
			return nil, fmt.Errorf("setting up TLS to Kafka: %w", err)
		}
		opts = append(opts, kgo.DialTLSConfig(config))
	}
	if c.SASL != nil {
		mechanism, err := c.SASL.mechanism()
		if err != nil {
			return nil, fmt.Errorf("setting up authentication to Kafka: %w", err)
		}
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, nil
}

// backoff grows from 50 ms to 1 s: a broker's restart takes seconds, and those who wait for it are few.
func backoff(tries int) time.Duration {
	return min(50*time.Millisecond<<min(max(tries-1, 0), 5), time.Second)
}

func (t TLS) config() (*tls.Config, error) {
	config := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.Insecure, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM form", t.CAFile)
		}
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("a client certificate needs both its certificate file and its key file")
	}
	if t.CertFile != "" {
		own, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("loading the client certificate %s: %w", t.CertFile, err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}

func (s SASL) mechanism() (sasl.Mechanism, error) {
	password, err := os.ReadFile(s.PasswordFile)
	if err != nil {
		return nil, fmt.Errorf("reading the password of %s: %w", s.User, err)
	}
	pass := strings.TrimRight(string(password), "\r\n")
	switch s.Mechanism {
	case "PLAIN":
		return plain.Auth{User: s.User, Pass: pass}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: s.User, Pass: pass}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: s.User, Pass: pass}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("SASL mechanism %q is unknown; use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", s.Mechanism)
}
