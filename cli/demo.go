package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	ucli "github.com/urfave/cli/v2"

	"github.com/selfregulating/sr/cli/demo"
	"github.com/selfregulating/sr/cli/render"
	"github.com/selfregulating/sr/examples/wordcount"
	"github.com/selfregulating/sr/runtime/worker"
)

// feedSeconds is how long feeding takes by default: long enough to watch it.
const feedSeconds = 10

func (a *app) demoCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "demo",
		Usage: "count the words of a text before your eyes, and prove the result",
		Description: describe(
			"Starts a small Kafka and a Postgres (one of this machine, or else one that is fetched), feeds a text into\n"+
				"the topic sentences, counts its words into the table word_counts as \"sr run\" would, and compares every row\n"+
				"of the table with a count of its own over the text: exit code 1 if one differs. On a terminal it then\n"+
				"waits for Ctrl-C, so that you can look around. Nothing is left running, and no file but with --keep.\n"+
				"\n"+
				"The text is made up, or FILE: a line a record, words parted by spaces. Lines that are not UTF-8, or hold\n"+
				"NUL or a word of more than 2597 bytes, become dead letters (table sr.dead_letter) and are not counted.\n"+
				"In a folder that is kept, each run feeds its text to what is there, and the proof is over all runs.",
			"sr demo",
			"sr demo --file book.txt --keep ./demo",
			"sr demo --exit --output json",
		),
		Flags: []ucli.Flag{
			&ucli.Float64Flag{Name: "mb", Value: 6, Usage: "`MEGABYTES` of text to make up"},
			&ucli.StringFlag{Name: "file", Usage: "text to count instead, a `FILE`"},
			&ucli.Float64Flag{
				Name: "rate", Usage: "`MEGABYTES` fed a second, 0 for as fast as possible", DefaultText: fmt.Sprintf("all in %d seconds", feedSeconds),
			},
			&ucli.StringFlag{Name: "keep", Usage: "`DIR` to keep broker and database in; the next run goes on there"},
			&ucli.BoolFlag{Name: "exit", Usage: "end after the proof"},
			outputFlag,
		},
		Action: a.runDemo,
	}
}

func (a *app) runDemo(c *ucli.Context) error {
	printer, err := a.printer(c)
	if err != nil {
		return err
	}
	if err := noArguments(c); err != nil {
		return err
	}
	err = demo.Run(c.Context, a.demoConfig(c), func(r demo.Result, at demo.Place) error {
		if err := a.printProof(c, printer, r); err != nil {
			return err
		}
		if !r.Exact {
			return errors.New("the table differs from the text; this is an error of sr, and the demo's purpose is to show that there is none")
		}
		if !c.Bool("exit") && render.IsTerminal(a.Err) {
			a.waitAround(c.Context, at)
		}
		return nil
	})
	var wrong *demo.ArgumentError
	var surroundings *demo.StartError
	switch {
	case errors.As(err, &wrong):
		return wrongUsage(c, "%w", err)
	case errors.As(err, &surroundings):
		return &environmentError{err}
	}
	return err
}

func (a *app) demoConfig(c *ucli.Context) demo.Config {
	config := demo.Config{
		Bytes: int64(c.Float64("mb") * 1e6), File: c.String("file"), Rate: c.Float64("rate") * 1e6, Keep: c.String("keep"),
		Kafka: []string{"internal", "kafka"}, Count: countWords(c), Screen: a.Err,
	}
	if !c.IsSet("rate") {
		config.Rate = float64(config.Bytes) / feedSeconds
		if info, err := os.Stat(config.File); err == nil {
			config.Rate = float64(info.Size()) / feedSeconds
		}
	}
	return config
}

// countWords runs examples/wordcount by the same steps as "sr run".
func countWords(c *ucli.Context) demo.Counter {
	return func(ctx context.Context, job demo.Job) error {
		plan, err := wordcount.Topology().Plan()
		if err != nil {
			return err
		}
		ends := endpoints{kafka: []string{job.Kafka}, postgres: job.Postgres}
		broker, err := openBroker(c, ends, plan, job.Log)
		if err != nil {
			return err
		}
		defer broker.Close()
		store, err := openStore(ctx, ends, plan, job.Log)
		if err != nil {
			return err
		}
		defer store.Close()
		return worker.Run(ctx, worker.Config{
			Plan: plan, Topology: store.Topology(), Broker: broker, Store: store, UntilCaughtUp: job.UntilCaughtUp, Log: job.Log,
		})
	}
}

func (a *app) printProof(c *ucli.Context, printer render.Printer, r demo.Result) error {
	if c.String(outputFlag.Name) != string(render.JSON) {
		return printer.Print(proofAnswer(r))
	}
	// One line, for whoever reads the last one.
	line, err := json.Marshal(r)
	if err == nil {
		_, err = a.Out.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("printing the answer: %w", err)
	}
	return nil
}

func proofAnswer(r demo.Result) render.Answer {
	verdict := "no: the table differs from the text"
	if r.Exact {
		verdict = "yes: fed = counted, distinct = rows, and every row equals an independent count of the text"
	}
	answer := render.Answer{
		Value: r,
		Sections: []render.Section{
			{Title: "Proof", Columns: []string{"", "in the text", "in the table", "equal"}, Rows: [][]any{
				{"words: fed, counted", r.Fed, r.Counted, r.Fed == r.Counted},
				{"distinct words, rows", r.DistinctFed, r.Distinct, r.DistinctFed == r.Distinct},
				{"dead letters", r.DeadLettersFed, r.DeadLetters, r.DeadLettersFed == r.DeadLetters},
			}},
			{Lines: []string{"Exact: " + verdict}},
		},
		Names: []string{fmt.Sprint(r.Exact)},
	}
	if len(r.Differences) > 0 {
		differing := render.Section{Title: "Some of the differences", Columns: []string{"word", "in the text", "in the table"}}
		for _, d := range r.Differences {
			differing.Rows = append(differing.Rows, []any{fmt.Sprintf("%q", d.Word), d.Fed, d.Counted})
		}
		answer.Sections = append(answer.Sections, differing)
	}
	return answer
}

// waitAround lets people look until they have seen enough.
func (a *app) waitAround(ctx context.Context, at demo.Place) {
	fate := "removes the data"
	if at.Kept {
		fate = "keeps the data in " + at.Folder
	}
	fmt.Fprintf(a.Err, "\nKafka and Postgres go on running; look around:\n  psql '%s'\nCtrl-C stops both and %s.\n", at.Postgres, fate)
	<-ctx.Done()
}
