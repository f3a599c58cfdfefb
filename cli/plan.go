package cli

import (
	"fmt"

	ucli "github.com/urfave/cli/v2"

	"github.com/selfregulating/sr/cli/render"
	"github.com/selfregulating/sr/runtime/topology"
)

func (a *app) planCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "plan",
		Usage:     "show what a topology runs as, and what it guarantees",
		ArgsUsage: a.argsOfTopologies(),
		Description: describe(
			"Checks a topology and prints its stages, the exchanges between them, its tables, and the guarantee\n"+
				"derived for each output, with the rule that gives it and what it costs. It asks neither Kafka nor\n"+
				"Postgres. A topology with problems is refused, each named with line and column.",
			"sr plan -f topology.yaml",
			"sr plan -f topology.yaml --output json",
		),
		Flags: []ucli.Flag{fileFlag, outputFlag},
		Action: func(c *ucli.Context) error {
			printer, err := a.printer(c)
			if err != nil {
				return err
			}
			plan, err := a.chosenTopology(c)
			if err != nil {
				return err
			}
			return printer.Print(planAnswer(plan.Describe()))
		},
	}
}

var outputFlag = &ucli.StringFlag{
	Name: "output", Aliases: []string{"o"}, Value: string(render.Table), Usage: "`FORMAT` of the answer: table, json, yaml or name",
}

// printer makes the printer that --output asks for.
func (a *app) printer(c *ucli.Context) (render.Printer, error) {
	format, err := render.ParseFormat(c.String(outputFlag.Name))
	if err != nil {
		return render.Printer{}, wrongUsage(c, "%w", err)
	}
	return render.NewPrinter(a.Out, format), nil
}

func planAnswer(d topology.Description) render.Answer {
	answer := render.Answer{
		Value: d,
		Sections: []render.Section{
			{Title: "Topology", Columns: []string{"name", "signature"}, Rows: [][]any{{d.Topology, d.Signature}}},
			stagesSection(d.Stages), exchangesSection(d.Exchanges), tablesSection(d.Tables), guaranteesSection(d.Guarantees),
			{Title: "Warnings", Lines: indented(d.Warnings)},
		},
	}
	for _, s := range d.Stages {
		answer.Names = append(answer.Names, s.Stage)
	}
	return answer
}

func stagesSection(stages []topology.StageDescription) render.Section {
	s := render.Section{Title: "Stages", Columns: []string{"stage", "operators", "parallelism", "reads", "spout", "feeds"}}
	for _, d := range stages {
		s.Rows = append(s.Rows, []any{d.Stage, d.Operators, d.Parallelism, d.Reads, d.SpoutKind, d.Feeds})
	}
	return s
}

func exchangesSection(exchanges []topology.ExchangeDescription) render.Section {
	s := render.Section{Title: "Exchanges", Columns: []string{"operator", "topic", "buckets", "combined"}}
	for _, d := range exchanges {
		s.Rows = append(s.Rows, []any{d.Operator, d.Topic, d.Buckets, d.Combined})
	}
	return s
}

func tablesSection(tables []topology.TableDescription) render.Section {
	s := render.Section{Title: "Tables", Columns: []string{"operator", "view", "columns", "kind", "folded"}}
	for _, d := range tables {
		var columns []string
		for _, c := range d.Columns {
			columns = append(columns, fmt.Sprintf("%s %s (%s)", c.Name, c.Type, c.Is))
		}
		s.Rows = append(s.Rows, []any{d.Operator, d.View, columns, d.Kind, d.Folded})
	}
	return s
}

func guaranteesSection(guarantees []topology.GuaranteeDescription) render.Section {
	s := render.Section{Title: "Guarantees", Columns: []string{"output", "promise", "spout", "state", "why", "cost"}}
	for _, d := range guarantees {
		s.Rows = append(s.Rows, []any{d.Output, d.Promise, d.SpoutKind, d.StateKind, d.Why, d.Cost})
	}
	return s
}

func indented(lines []string) []string {
	var out []string
	for _, l := range lines {
		out = append(out, "  "+l)
	}
	return out
}
