package cli

import (
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"
)

// flagsFirst moves the flags of a command before its other arguments, where the parser wants them, so
// that people may write them in any order. What follows "--" stays where it is.
func flagsFirst(commands []*ucli.Command, args []string) []string {
	var command *ucli.Command
	at := min(1, len(args))
	for ; at < len(args); at++ {
		i := slices.IndexFunc(commands, func(c *ucli.Command) bool { return c.HasName(args[at]) })
		if i < 0 {
			break
		}
		command, commands = commands[i], commands[i].Subcommands
	}
	if command == nil {
		return args
	}
	flags, words := split(command, args[at:])
	return slices.Concat(args[:at], flags, words)
}

// split parts flags, with their values, from the other arguments.
func split(command *ucli.Command, args []string) (flags, words []string) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			return append(flags, "--"), append(words, args[i+1:]...)
		case len(arg) < 2 || arg[0] != '-':
			words = append(words, arg)
		default:
			flags = append(flags, arg)
			if takesValue(command, arg) && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		}
	}
	return flags, words
}

// takesValue tells whether the next argument belongs to this flag.
func takesValue(command *ucli.Command, flag string) bool {
	name := strings.TrimLeft(flag, "-")
	for _, f := range command.Flags {
		documented, ok := f.(ucli.DocGenerationFlag)
		if ok && slices.Contains(f.Names(), name) {
			return documented.TakesValue()
		}
	}
	return false
}
