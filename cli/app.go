package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"github.com/selfregulating/sr/runtime/topology"
)

// app is one call of sr.
type app struct {
	Streams
	topologies []*topology.Builder
}

// commands are the groups of commands in the order of the help, each in a file of its own.
func (a *app) commands() []*ucli.Command {
	return []*ucli.Command{
		a.demoCommand(),
		a.runCommand(),
		a.planCommand(),
		a.versionCommand(),
		a.benchCommand(),
		a.internalCommand(),
	}
}

func (a *app) run(ctx context.Context, args []string) error {
	u := a.build()
	if len(args) > 1 && args[1] == "help" {
		args = append(slices.Delete(slices.Clone(args), 1, 2), "--help")
	}
	return u.RunContext(ctx, flagsFirst(u.Commands, args))
}

func (a *app) build() *ucli.App {
	u := &ucli.App{
		Name:                  "sr",
		Usage:                 "a self-regulating stream runtime",
		Description:           "Kafka carries the data, Postgres decides what is done: exactly-once state in tables of your own.",
		Commands:              a.commands(),
		Action:                group,
		OnUsageError:          onUsageError,
		CustomAppHelpTemplate: appHelp,
		Reader:                a.In,
		Writer:                a.Out,
		ErrWriter:             a.Err,
		ExitErrHandler:        func(*ucli.Context, error) {}, // Main alone ends the process
		HideHelpCommand:       true,
	}
	for _, c := range u.Commands {
		uniform(c)
	}
	return u
}

// uniform gives a command, and those below it, what all commands share.
func uniform(c *ucli.Command) {
	c.OnUsageError = onUsageError
	c.CustomHelpTemplate = commandHelp
	c.HideHelpCommand = true
	if len(c.Subcommands) > 0 {
		c.Action = group
		c.CustomHelpTemplate = groupHelp
	}
	for _, sub := range c.Subcommands {
		uniform(sub)
	}
}

// group is the action of a command that only has commands below it.
func group(c *ucli.Context) error {
	if c.Args().Present() {
		return &usageError{c.Command.HelpName, fmt.Errorf("there is no command %q", c.Args().First())}
	}
	return ucli.ShowSubcommandHelp(c)
}

// onUsageError puts what the flag parser says into our words.
func onUsageError(c *ucli.Context, err error, _ bool) error {
	if name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
		err = fmt.Errorf("there is no flag --%s", strings.TrimLeft(name, "-"))
		if known := ucli.SuggestFlag(c.Command.Flags, name, true); known != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, known)
		}
	}
	return &usageError{c.Command.HelpName, err}
}

// noArguments refuses what stands behind the flags.
func noArguments(c *ucli.Context) error {
	if c.Args().Present() {
		return &usageError{c.Command.HelpName, fmt.Errorf("%q is one word too many", c.Args().First())}
	}
	return nil
}

// wrongUsage makes an error of a call that cannot be meant.
func wrongUsage(c *ucli.Context, format string, args ...any) error {
	return &usageError{c.Command.HelpName, fmt.Errorf(format, args...)}
}

// describe makes the description of a command out of a text and examples.
func describe(text string, examples ...string) string {
	return text + "\n\nExamples:\n  " + strings.Join(examples, "\n  ")
}
