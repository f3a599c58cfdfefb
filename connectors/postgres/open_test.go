package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/selfregulating/sr/connectors/postgres/pgtest"
	"github.com/selfregulating/sr/migrations"
	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

func TestOpeningAgainFindsTheSameIncarnation(t *testing.T) {
	direct := pgtest.URL(t)
	first, second := open(t, direct, wordTable()), open(t, direct, wordTable())
	if first.Topology() != second.Topology() || !strings.HasPrefix(string(first.Topology()), "test.") {
		t.Errorf("the incarnations are %s and %s", first.Topology(), second.Topology())
	}
	if other := openAs(t, direct, "other"); other.Topology() == first.Topology() {
		t.Error("another topology has the same incarnation")
	}
}

func TestConcurrentOpensMakeOneTopology(t *testing.T) {
	direct := pgtest.URL(t)
	var group sync.WaitGroup
	ids := make([]runtime.TopologyID, 4)
	for i := range ids {
		group.Go(func() {
			s, err := Open(t.Context(), configOf(direct, "test", wordTable()))
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			ids[i] = s.Topology()
		})
	}
	group.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("the incarnations are %v", ids)
		}
	}
}

func TestAChangedOperatorIsRefusedWithBothIdentities(t *testing.T) {
	direct := pgtest.URL(t)
	config := configOf(direct, "test", wordTable())
	config.Operators[0].Signature = 0xabc
	s, err := Open(t.Context(), config)
	check(t, err)
	s.Close()
	for name, change := range map[string]func(*Operator){
		"buckets":   func(o *Operator) { o.Buckets = 8 },
		"signature": func(o *Operator) { o.Signature = 0xdef },
		"kind":      func(o *Operator) { o.Table.Kind = state.Opaque },
		"key type":  func(o *Operator) { o.Table.Keys[0].Type = state.Bigint },
		"fold":      func(o *Operator) { o.Table.Values[0].Fold = state.FoldSum },
		"view":      func(o *Operator) { o.Table.View = "words" },
	} {
		changed := configOf(direct, "test", wordTable())
		changed.Operators[0].Signature = 0xabc
		change(&changed.Operators[0])
		_, err := Open(t.Context(), changed)
		if !errors.Is(err, store.ErrChanged) || strings.Count(err.Error(), `"buckets"`) != 2 || !strings.Contains(err.Error(), "counts") {
			t.Errorf("%s: got %v, want ErrChanged with both identities", name, err)
		}
	}
}

func TestANameInUseIsRefusedAndNothingIsMade(t *testing.T) {
	direct := pgtest.URL(t)
	conn, err := pgx.Connect(t.Context(), direct)
	check(t, err)
	defer conn.Close(context.Background())
	check(t, migrations.Up(t.Context(), conn))
	for taken, make := range map[string]string{
		"public.word_counts is a table of somebody else": "CREATE TABLE word_counts ()",
		"public.word_counts is a view of somebody else":  "CREATE VIEW word_counts AS SELECT 1",
		"sr_state.test__counts is a table":               "CREATE TABLE sr_state.test__counts ()",
	} {
		_, err := conn.Exec(t.Context(), make)
		check(t, err)
		_, err = Open(t.Context(), configOf(direct, "test", &state.Table{
			Operator: "before", View: "before", Values: wordTable().Values, Kind: state.Opaque, Buckets: 1,
		}, wordTable()))
		if !errors.Is(err, store.ErrNameInUse) || !strings.Contains(err.Error(), taken) {
			t.Errorf("got %v, want ErrNameInUse that says %q", err, taken)
		}
		var made int
		check(t, conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM sr.topology) + (SELECT count(*) FROM sr.operator)
			+ (SELECT count(*) FROM pg_class WHERE relname IN ('before', 'test__before'))`).Scan(&made))
		if made != 0 {
			t.Errorf("the refused opening left %d things", made)
		}
		_, err = conn.Exec(t.Context(), strings.Replace(strings.Replace(strings.Split(make, " AS")[0], "CREATE", "DROP", 1), " ()", "", 1))
		check(t, err)
	}
	open(t, direct, wordTable())
	_, err = Open(t.Context(), configOf(direct, "rival", wordTable()))
	if !errors.Is(err, store.ErrNameInUse) || !strings.Contains(err.Error(), "operator counts of topology test.") {
		t.Errorf("got %v, want ErrNameInUse that names the other topology", err)
	}
}

func TestAnUnreachableDatabaseIsNamedWithoutItsPassword(t *testing.T) {
	good, err := url.Parse(pgtest.URL(t))
	check(t, err)
	with := func(change func(*url.URL)) string {
		bad := *good
		bad.User = url.UserPassword(good.User.Username(), "s3cret")
		change(&bad)
		return bad.String()
	}
	for name, bad := range map[string]string{
		"refused":     with(func(u *url.URL) { u.Host = "127.0.0.1:1" }),
		"no database": with(func(u *url.URL) { u.User = good.User; u.Path = "/none" }),
		"no role":     with(func(u *url.URL) { u.User = url.UserPassword("nobody_here", "s3cret") }),
	} {
		_, err := Open(t.Context(), Config{URL: bad, Topology: "test"})
		if !errors.Is(err, store.ErrUnreachable) || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "127.0.0.1:") {
			t.Errorf("%s: got %v, want ErrUnreachable with host and port, without password", name, err)
		}
	}
	for _, bad := range []string{
		"postgres://u:s3cret@127.0.0.1:port/db", "postgres://u:s3cret@[::1/db", "host=h password=s3cret port=x", "postgres://u:s3cret@h/db?sslmode=never",
	} {
		if _, err := Open(t.Context(), Config{URL: bad, Topology: "test"}); err == nil || strings.Contains(fmt.Sprintf("%+v", err), "s3cret") {
			t.Errorf("a bad URL: got %v, want an error without the password", err)
		}
	}
}

func TestTheViewShowsKeysAndValues(t *testing.T) {
	table := &state.Table{
		Operator: "prices", View: "Mean_prices", Keys: []state.Column{{Name: "Item", Type: state.Text}}, Kind: state.Opaque, Buckets: 1,
		Values: []state.Aggregate{{Name: "mean", Fold: state.FoldAvg, Type: state.Double}, {Name: "Exact", Fold: state.FoldAvg, Type: state.Numeric}},
	}
	w := newWorld(t)
	s := openAs(t, w.url, "prices", table)
	_, err := s.pool.Exec(t.Context(), `INSERT INTO sr_state.prices__prices (bucket, txid, "Item", "avg1:sum", "avg1:count", "avg2:sum", "avg2:count", "prev:found")
		VALUES (0, 1, 'a', 9, 4, 10, 3, false), (0, 1, 'b', NULL, 0, NULL, 0, false)`)
	check(t, err)
	var text string
	check(t, s.pool.QueryRow(t.Context(), `SELECT string_agg(concat_ws('|', "Item", mean, round("Exact", 2)), ' ' ORDER BY "Item") FROM "Mean_prices"`).Scan(&text))
	if text != "a|2.25|3.33 b" {
		t.Errorf("the view shows %q", text)
	}
}

func TestLongNamesDoNotCollide(t *testing.T) {
	long := strings.Repeat("x", 60)
	one, other := tableName(long, "aaaa"), tableName(long, "bbbb")
	if len(one) != maxIdentifier || len(other) != maxIdentifier || one == other {
		t.Errorf("the tables are %s and %s", one, other)
	}
	if got := tableName("wordcount", "counts"); got != "wordcount__counts" {
		t.Errorf("the table is %s", got)
	}
}
