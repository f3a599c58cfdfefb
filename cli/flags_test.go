package cli

import (
	"slices"
	"strings"
	"testing"

	ucli "github.com/urfave/cli/v2"
)

func TestFlagsMayStandBehindArguments(t *testing.T) {
	commands := []*ucli.Command{
		{Name: "run", Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "kafka"}, &ucli.StringFlag{Name: "file", Aliases: []string{"f"}}, &ucli.BoolFlag{Name: "until-caught-up"},
		}},
		{Name: "inspect", Subcommands: []*ucli.Command{{Name: "lag", Flags: []ucli.Flag{&ucli.StringFlag{Name: "output"}}}}},
	}
	for _, c := range []struct{ typed, parsed string }{
		{"sr", "sr"},
		{"sr --help", "sr --help"},
		{"sr nope x --kafka y", "sr nope x --kafka y"},
		{"sr run words --kafka a:1", "sr run --kafka a:1 words"},
		{"sr run words --kafka=a:1 -f t.yaml", "sr run --kafka=a:1 -f t.yaml words"},
		{"sr run words --until-caught-up more", "sr run --until-caught-up words more"},
		{"sr run words --kafka", "sr run --kafka words"}, // the parser will miss the value
		{"sr run --kafka -- --kafka", "sr run --kafka -- --kafka"},
		{"sr run a -- -b --kafka c", "sr run -- a -b --kafka c"},
		{"sr run - --kafka a:1", "sr run --kafka a:1 -"},
		{"sr run --unknown words", "sr run --unknown words"},
		{"sr inspect lag words --output json", "sr inspect lag --output json words"},
	} {
		got := flagsFirst(commands, strings.Fields(c.typed))
		if !slices.Equal(got, strings.Fields(c.parsed)) {
			t.Errorf("%s is parsed as %v, want %s", c.typed, got, c.parsed)
		}
	}
}
