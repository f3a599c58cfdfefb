// Command sr runs topologies and tells about them: sr help.
package main

import (
	"context"
	"os"

	"github.com/selfregulating/sr/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
