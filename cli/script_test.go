package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/selfregulating/sr/cli"
	"github.com/selfregulating/sr/connectors/kafka/kafkalocal"
	"github.com/selfregulating/sr/connectors/postgres/pgtest"
	"github.com/selfregulating/sr/examples/wordcount"
)

// TestMain lets this binary be the command sr, with a topology in Go, when a script calls it so.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"sr": func() {
			streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
			os.Exit(cli.Main(context.Background(), os.Args, streams, wordcount.Topology()))
		},
		// A command that does not heed the end of its context.
		"stubborn": func() {
			cli.UntilInterrupted(context.Background(), os.Stderr)
			_ = os.WriteFile("ready", nil, 0o600)
			select {}
		},
	})
}

// patience bounds what a script waits for.
const patience = time.Minute

func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no script: %v", err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runScript(t, script)
		})
	}
}

func runScript(t *testing.T, script string) {
	example, err := filepath.Abs("../examples/wordcount")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               []string{script},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("SR_UPDATE_SCRIPTS") != "", // writes what "cmp" finds into the scripts
		Setup: func(env *testscript.Env) error {
			env.Setenv("WORDCOUNT", filepath.Join(example, "topology.yaml"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"kafka":      func(ts *testscript.TestScript, _ bool, args []string) { startKafka(t, ts, args) },
			"postgres":   func(ts *testscript.TestScript, _ bool, _ []string) { ts.Setenv("SR_POSTGRES", pgtest.URL(t)) },
			"topic":      makeTopic,
			"produce":    produce,
			"sql":        printRows,
			"until-sql":  untilRows,
			"until-file": untilFile,
			"signal":     signalAll,
			"exits":      exits,
		},
	})
}

// startKafka is kafka [USER PASSWORD]: with a user, clients have to authenticate by SCRAM-SHA-256.
func startKafka(t *testing.T, ts *testscript.TestScript, user []string) {
	var options []kfake.Opt
	if len(user) > 0 {
		options = append(options, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", user[0], user[1]))
	}
	_, addr := kafkalocal.Fake(t, options...)
	ts.Setenv("SR_KAFKA", addr)
}

func withPatience(ts *testscript.TestScript) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	ts.Defer(cancel)
	return ctx
}

func client(ts *testscript.TestScript) *kgo.Client {
	cl, err := kgo.NewClient(kgo.SeedBrokers(ts.Getenv("SR_KAFKA")), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	ts.Check(err)
	ts.Defer(cl.Close)
	return cl
}

// makeTopic is topic NAME PARTITIONS.
func makeTopic(ts *testscript.TestScript, _ bool, args []string) {
	partitions, err := strconv.Atoi(args[1])
	ts.Check(err)
	_, err = kadm.NewClient(client(ts)).CreateTopic(withPatience(ts), int32(partitions), 1, nil, args[0])
	ts.Check(err)
}

// produce is produce TOPIC FILE: each line is a record, spread over the partitions.
func produce(ts *testscript.TestScript, _ bool, args []string) {
	var records []*kgo.Record
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		records = append(records, &kgo.Record{Topic: args[0], Value: []byte(strings.TrimSuffix(line, "\n"))})
	}
	ts.Check(client(ts).ProduceSync(withPatience(ts), records...).FirstErr())
}

// printRows is sql QUERY: it prints the rows, a line each, or the error where it is expected to fail.
func printRows(ts *testscript.TestScript, neg bool, args []string) {
	rows, err := query(withPatience(ts), ts, args[0])
	if (err != nil) != neg {
		ts.Fatalf("%s: error %v, rows %s", args[0], err, rows)
	}
	_, _ = ts.Stdout().Write([]byte(rows))
}

// untilRows is until-sql QUERY FILE: it waits until the rows are those in the file.
func untilRows(ts *testscript.TestScript, _ bool, args []string) {
	ctx := withPatience(ts)
	want := ts.ReadFile(args[1])
	until(ctx, ts, func() error {
		rows, err := query(ctx, ts, args[0])
		if err == nil && rows != want {
			err = fmt.Errorf("%s answers %s, want %s", args[0], rows, want)
		}
		return err
	})
}

// untilFile is until-file FILE: it waits until the file is there.
func untilFile(ts *testscript.TestScript, _ bool, args []string) {
	until(withPatience(ts), ts, func() error {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return err
	})
}

// until tries until there is no error.
func until(ctx context.Context, ts *testscript.TestScript, try func() error) {
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("%v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// signalAll is signal NAME...: it sends the signals to all programs in the background.
func signalAll(ts *testscript.TestScript, _ bool, args []string) {
	known := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}
	for _, cmd := range ts.BackgroundCmds() {
		for _, name := range args {
			ts.Check(cmd.Process.Signal(known[name]))
		}
	}
}

func query(ctx context.Context, ts *testscript.TestScript, sql string) (string, error) {
	conn, err := pgx.Connect(ctx, ts.Getenv("SR_POSTGRES"))
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, row := range results[len(results)-1].Rows {
		for i, value := range row {
			if i > 0 {
				lines.WriteByte(' ')
			}
			lines.Write(value)
		}
		lines.WriteByte('\n')
	}
	return lines.String(), nil
}

// exits is exits CODE PROGRAM ARG...: the program has to end with that code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			ts.Fatalf("%v", err)
		}
		got = ended.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v ended with %d, want %d", args[1:], got, want)
	}
}
