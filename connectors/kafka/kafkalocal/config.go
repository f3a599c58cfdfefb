package kafkalocal

import (
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Config says where a broker lives. Dir is required, Start also needs Command.
type Config struct {
	// Dir is the broker's own folder, made if it is missing: topics, offsets and transactions are kept in it.
	Dir string
	// Port on 127.0.0.1; 0 takes a free one, which a Server then keeps over Restart.
	Port int
	// Ready is called once with the address (host:port) when clients may connect. For Serve only.
	Ready func(addr string)

	// Command are the arguments of this program that lead to Serve, such as {"internal", "kafka"}. Start adds
	// "--dir", Dir, "--port" and Port. For Start only.
	Command []string
	// Log receives what the broker's process prints; nil drops it. For Start only.
	Log io.Writer
}

func (c Config) validate() error {
	if c.Dir == "" {
		return errors.New("the folder of the Kafka broker is not given: set Dir")
	}
	if c.Port < 0 || c.Port > 65535 {
		return fmt.Errorf("port %d of the Kafka broker is not between 0 and 65535", c.Port)
	}
	return nil
}

func (c Config) ready(addr string) {
	if c.Ready != nil {
		c.Ready(addr)
		return
	}
	fmt.Println(readyPrefix + addr)
}

// arguments are those of the broker's process.
func (c Config) arguments() []string {
	return append(append([]string{}, c.Command...), "--dir", c.Dir, "--port", strconv.Itoa(c.Port))
}
