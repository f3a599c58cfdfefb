package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"github.com/selfregulating/sr/runtime/topology"
)

// chosenTopology plans the topology that a command is about: that of -f FILE, or one of this binary by NAME.
func (a *app) chosenTopology(c *ucli.Context) (*topology.Plan, error) {
	file, name := c.String(fileFlag.Name), c.Args().First()
	switch {
	case c.Args().Len() > 1:
		return nil, wrongUsage(c, "%q is one word too many", c.Args().Get(1))
	case file != "" && name != "":
		return nil, wrongUsage(c, "there are two topologies, the file %s and %s; name one", file, name)
	case file != "":
		return planOfFile(c, file)
	case name != "":
		return a.planOfName(c, name)
	}
	return nil, wrongUsage(c, "no topology is named; give its file with -f FILE")
}

func planOfFile(c *ucli.Context, file string) (*topology.Plan, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, wrongUsage(c, "there is no file %s; give the topology's file with -f FILE", file)
	}
	if err != nil {
		return nil, wrongUsage(c, "reading the topology: %w", err)
	}
	plan, err := topology.Parse(file, text)
	if err != nil {
		return nil, err
	}
	anchor(plan.Kafka, filepath.Dir(file))
	return plan, nil
}

// anchor has the files that a topology names found beside it, wherever sr is called from.
func anchor(k *topology.KafkaSettings, dir string) {
	if k == nil {
		return
	}
	beside := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	if k.TLS != nil {
		beside(&k.TLS.CAFile)
		beside(&k.TLS.CertFile)
		beside(&k.TLS.KeyFile)
	}
	if k.SASL != nil {
		beside(&k.SASL.PasswordFile)
	}
}

// planOfName plans the topologies of this binary until it finds the one called name. One that does
// not plan is an error under any name: the binary is broken.
func (a *app) planOfName(c *ucli.Context, name string) (*topology.Plan, error) {
	var names []string
	for _, b := range a.topologies {
		plan, err := b.Plan()
		if err != nil {
			return nil, err
		}
		if plan.Name == name {
			return plan, nil
		}
		names = append(names, plan.Name)
	}
	known := "it has none"
	if len(names) > 0 {
		known = "it has " + strings.Join(names, ", ")
	}
	return nil, wrongUsage(c, "this binary has no topology %s (%s); a topology file is given with -f FILE", name, known)
}

var fileFlag = &ucli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "topology in YAML, a `FILE`"}

// argsOfTopologies says in the usage whether there are topologies to name.
func (a *app) argsOfTopologies() string {
	if len(a.topologies) == 0 {
		return ""
	}
	return fmt.Sprintf("[NAME of %d built in]", len(a.topologies))
}
