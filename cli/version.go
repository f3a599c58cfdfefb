package cli

import (
	"runtime/debug"

	ucli "github.com/urfave/cli/v2"

	"github.com/selfregulating/sr/cli/render"
)

// build is what this binary was made of.
type build struct {
	Version string `json:"version"`
	// Revision is the commit, with "+" if files differed from it; empty if the build does not know it.
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

func (a *app) versionCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "version",
		Usage: "show the version of sr",
		Description: describe(
			"Prints the version of this binary, the commit that it was built from, and the version of Go.",
			"sr version",
			"sr version --output json",
		),
		Flags: []ucli.Flag{outputFlag},
		Action: func(c *ucli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			printer, err := a.printer(c)
			if err != nil {
				return err
			}
			b := thisBuild()
			return printer.Print(render.Answer{
				Value: b,
				Sections: []render.Section{{
					Columns: []string{"version", "revision", "go"}, Rows: [][]any{{b.Version, b.Revision, b.Go}},
				}},
				Names: []string{b.Version},
			})
		},
	}
}

func thisBuild() build {
	b := build{Version: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version, b.Go = info.Main.Version, info.GoVersion
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Revision = s.Value + b.Revision
		case s.Key == "vcs.modified" && s.Value == "true":
			b.Revision += "+"
		}
	}
	return b
}
