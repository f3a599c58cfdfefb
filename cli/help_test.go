package cli

import (
	"strings"
	"testing"

	ucli "github.com/urfave/cli/v2"
)

func TestEveryCommandExplainsItself(t *testing.T) {
	u := (&app{}).build()
	if len(u.Commands) == 0 {
		t.Fatal("sr has no command")
	}
	for _, c := range u.Commands {
		explainsItself(t, "sr", c)
	}
}

func explainsItself(t *testing.T, parent string, c *ucli.Command) {
	name := parent + " " + c.Name
	if c.Usage == "" || strings.ContainsAny(c.Usage, "\n.") || c.Usage[0] < 'a' || c.Usage[0] > 'z' {
		t.Errorf("%s: usage %q is not a line that begins small and has no full stop", name, c.Usage)
	}
	text, examples, found := strings.Cut(c.Description, "\n\nExamples:\n")
	if !found || text == "" || strings.Count(examples, name) < 2 {
		t.Errorf("%s needs a description and two examples, has\n%s", name, c.Description)
	}
	for _, f := range c.Flags {
		documented, ok := f.(ucli.DocGenerationFlag)
		if !ok || documented.GetUsage() == "" {
			t.Errorf("%s: flag %s has no usage", name, f.Names()[0])
		}
	}
	for _, sub := range c.Subcommands {
		explainsItself(t, name, sub)
	}
}
