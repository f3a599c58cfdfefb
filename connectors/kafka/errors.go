package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/runtime/broker"
)

// explain says in words why the broker at addr does not answer us; nil stays nil.
func (c Config) explain(addr string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %s (%w)", broker.ErrUnreachable, addr, c.reason(err), err)
}

func (c Config) reason(err error) string {
	if c.SASL != nil {
		if why := c.SASL.reason(err); why != "" {
			return why
		}
	}
	if why := c.reasonTLS(err); why != "" {
		return why
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded) && c.TLS != nil:
		return "no answer in time; is the address right, does a firewall let it through, and is it a TLS port?"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time; is the address right, and does a firewall let it through?"
	case errors.Is(err, io.EOF) && c.SASL == nil:
		return "it closed the connection at the first request; it may want authentication (kafka.sasl) or TLS (kafka.tls)"
	case errors.Is(err, io.EOF):
		return fmt.Sprintf("it closed the connection; the password of user %q may be wrong, or it may want TLS (kafka.tls)", c.SASL.User)
	case isDial(err):
		return "cannot connect; is the broker running, and is the address right?"
	}
	return "it answered with an error"
}

func (s SASL) reason(err error) string {
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return fmt.Sprintf("authentication refused for user %q by %s; check the user and the file with the password", s.User, s.Mechanism)
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Sprintf("it does not offer SASL mechanism %s; choose one that its listener enables", s.Mechanism)
	case errors.Is(err, kerr.IllegalSaslState):
		return "this listener takes no authentication; leave kafka.sasl out, or use the port of the SASL listener"
	}
	return ""
}

func (c Config) reasonTLS(err error) string {
	var (
		record    tls.RecordHeaderError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
	)
	switch {
	case errors.As(err, &authority):
		return "its certificate is signed by an authority that is not trusted; name the authority's file in kafka.tls.caFile"
	case errors.As(err, &hostname):
		return "its certificate is for another name; use that name as the address or as kafka.tls.serverName"
	case errors.As(err, &record), c.TLS != nil && errors.Is(err, io.EOF):
		return "we spoke TLS, but this seems to be a plaintext port; leave kafka.tls out, or use the port of the TLS listener"
	case c.TLS == nil && strings.Contains(err.Error(), "tls alert"):
		return "we spoke plaintext, but this is a TLS port; add kafka.tls, or use the port of the plaintext listener"
	}
	return ""
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// refused turns the error code of an answer about a topic into ours; 0 is nil.
func refused(topic string, code int16) error {
	err := kerr.ErrorForCode(code)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return fmt.Errorf("topic %s: %w", topic, broker.ErrNoTopic)
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return fmt.Errorf("topic %s: %w (%w)", topic, broker.ErrNoPermission, err)
	}
	return fmt.Errorf("topic %s: %w", topic, err)
}

func denied(code int16) bool {
	return code == kerr.TopicAuthorizationFailed.Code || code == kerr.ClusterAuthorizationFailed.Code
}

// unanswered wraps the error of a request that got no answer; one that the caller's ctx ended stays
// just that.
func (b *Broker) unanswered(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, kgo.ErrClientClosed):
		return err
	}
	return b.cfg.explain(strings.Join(b.cfg.Seeds, ", "), err)
}
