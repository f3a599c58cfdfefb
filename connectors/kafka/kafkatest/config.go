package kafkatest

import (
	"errors"
	"io"
)

// The one user that a broker with SASL knows, by PLAIN and by SCRAM.
const (
	User     = "sr"
	Password = "correct-horse"
)

// Config says what broker to start. Its zero value, with a Dir, is a plain broker on a free port.
type Config struct {
	// Dir holds the data, the settings and broker.log. Required. A Dir that was used before brings
	// its topics back.
	Dir string
	// Port of the plaintext listener on 127.0.0.1; 0 takes a free one.
	Port int
	// SASL adds a listener SASL_PLAINTEXT, and SASL_SSL with TLS, that takes User and Password by
	// PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. It also turns access control on: who is not named by
	// a rule may do anything, so a test denies User what it wants through the plaintext listener,
	// whose clients stay all-powerful.
	SASL bool
	// TLS adds a listener SSL whose certificate is signed by the authority in CAFile.
	TLS bool
	// Heap is the size of the Java heap, as -Xmx takes it; "" is 1g.
	Heap string
	// Settings are lines of server.properties that are added, or replace what is there.
	Settings map[string]string
	// Detached lets the broker outlive the process that started it; otherwise it ends with it (on
	// Linux, whatever ended that process).
	Detached bool
	// Log takes a line when something is slow, as the first fetch is; nil drops it. What the broker
	// itself writes is in broker.log.
	Log io.Writer
}

func (c Config) validate() error {
	if c.Dir == "" {
		return errors.New("a broker needs a Dir for its data")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Heap == "" {
		c.Heap = "1g"
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	return c
}
