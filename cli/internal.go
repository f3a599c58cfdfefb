package cli

import (
	ucli "github.com/urfave/cli/v2"

	"github.com/selfregulating/sr/connectors/kafka/kafkalocal"
)

// internalCommand holds what sr calls itself for, as other processes.
func (a *app) internalCommand() *ucli.Command {
	return &ucli.Command{
		Name:        "internal",
		Usage:       "processes that sr starts for itself",
		Description: describe("What sr starts itself as; not for people.", "sr internal kafka --dir kafka", "sr internal kafka --help"),
		Hidden:      true,
		Subcommands: []*ucli.Command{internalKafka()},
	}
}

func internalKafka() *ucli.Command {
	return &ucli.Command{
		Name:  "kafka",
		Usage: "serve a small Kafka broker until SIGTERM",
		Description: describe(
			"Serves the broker of the demo, the bench and the tests from a folder, and prints its address.",
			"sr internal kafka --dir kafka",
			"sr internal kafka --dir kafka --port 9092",
		),
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "dir", Usage: "the broker's own `FOLDER`, made if it is missing"},
			&ucli.IntFlag{Name: "port", Usage: "`PORT` on 127.0.0.1; 0 takes a free one"},
		},
		Action: func(c *ucli.Context) error {
			if c.String("dir") == "" {
				return wrongUsage(c, "the broker's folder is missing; give it with --dir FOLDER")
			}
			return kafkalocal.Serve(c.Context, kafkalocal.Config{Dir: c.String("dir"), Port: c.Int("port")})
		},
	}
}
