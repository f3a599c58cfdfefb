package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	ucli "github.com/urfave/cli/v2"
)

// endpoints are where the data is carried and where it is decided.
type endpoints struct {
	kafka    []string
	postgres string
}

// endpointsOf reads and checks --kafka and --postgres.
func endpointsOf(c *ucli.Context) (endpoints, error) {
	e := endpoints{postgres: c.String("postgres")}
	for seed := range strings.SplitSeq(c.String("kafka"), ",") {
		seed = strings.TrimSpace(seed)
		if seed == "" {
			continue
		}
		if err := checkAddress(seed); err != nil {
			return e, wrongUsage(c, "Kafka broker %q is not an address (%w); write HOST:PORT", seed, err)
		}
		e.kafka = append(e.kafka, seed)
	}
	if len(e.kafka) == 0 {
		return e, wrongUsage(c, "no Kafka broker is named; give one with --kafka HOST:PORT, or in SR_KAFKA")
	}
	if e.postgres == "" {
		return e, wrongUsage(c, "no database is named; give it with --postgres URL, or in SR_POSTGRES")
	}
	if err := checkDatabase(e.postgres); err != nil {
		return e, wrongUsage(c, "the Postgres URL cannot be used (%w); write postgres://USER:PASSWORD@HOST:PORT/DATABASE", err)
	}
	return e, nil
}

// checkAddress tells what is wrong with a HOST:PORT.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		var malformed *net.AddrError
		if errors.As(err, &malformed) {
			return errors.New(malformed.Err)
		}
		return err
	}
	if host == "" {
		return errors.New("missing host")
	}
	return checkPort(port)
}

func checkPort(port string) error {
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("port %q is not a number from 0 to 65535", port)
	}
	return nil
}

// checkDatabase tells what is wrong with a URL, and never repeats it: it may hold a password. The
// form of keys and values ("host=... dbname=...") is left to Postgres.
func checkDatabase(text string) error {
	if !strings.Contains(text, "://") {
		if strings.Contains(text, "=") {
			return nil
		}
		return errors.New("it has no scheme")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("it is not a URL; characters such as / and % in a password are written as %2F and %25")
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return fmt.Errorf("its scheme is %q", u.Scheme)
	}
	return nil
}
