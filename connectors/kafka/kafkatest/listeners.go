package kafkatest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Protocol names a listener of the broker by its security protocol, in Kafka's words.
type Protocol string

// The listeners a broker may have.
const (
	Plaintext     Protocol = "PLAINTEXT"
	TLS           Protocol = "SSL"
	SASLPlaintext Protocol = "SASL_PLAINTEXT"
	SASLTLS       Protocol = "SASL_SSL"

	controller Protocol = "CONTROLLER"
)

// listeners names the listeners that cfg asks for.
func (c Config) listeners() []Protocol {
	all := []Protocol{controller, Plaintext}
	if c.TLS {
		all = append(all, TLS)
	}
	if c.SASL {
		all = append(all, SASLPlaintext)
	}
	if c.SASL && c.TLS {
		all = append(all, SASLTLS)
	}
	return all
}

// takePorts gives each listener a port. They stay for the life of the broker, so that its clients
// find it again after a restart.
func (c Config) takePorts() (map[Protocol]int, error) {
	ports := make(map[Protocol]int)
	taken := map[int]bool{c.Port: true}
	for _, l := range c.listeners() {
		if l == Plaintext && c.Port != 0 {
			ports[l] = c.Port
			continue
		}
		port, err := freePort(taken)
		if err != nil {
			return nil, err
		}
		ports[l], taken[port] = port, true
	}
	return ports, nil
}

// freePort finds a port below the range from which systems number outgoing connections. A port of
// that range could be lost while the broker is down: a client that keeps trying to reach it is
// given it as its own source port sooner or later, and then talks to itself.
func freePort(taken map[int]bool) (int, error) {
	const lowest, highest, tries = 20000, 32000, 100
	for range tries {
		port := lowest + rand.IntN(highest-lowest)
		if taken[port] {
			continue
		}
		l, err := net.Listen("tcp", address(port))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 between %d and %d in %d tries", lowest, highest, tries)
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
