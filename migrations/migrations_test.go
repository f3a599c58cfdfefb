package migrations

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/selfregulating/sr/connectors/postgres/pgtest"
)

func TestUpDownUp(t *testing.T) {
	db := connect(t)
	for range 2 {
		must(t, Up(t.Context(), db))
		if got := describe(t, db); !strings.Contains(got, "sr.progress") || !strings.Contains(got, "sr.assert_count") {
			t.Fatalf("after Up the database has %s", got)
		}
		must(t, Down(t.Context(), db, 0))
		if got := describe(t, db); got != "sr.migration" {
			t.Fatalf("after Down the database still has %s", got)
		}
	}
}

func TestUpIsIdempotent(t *testing.T) {
	db := connect(t)
	must(t, Up(t.Context(), db))
	before := describe(t, db)
	must(t, Up(t.Context(), db))
	if after := describe(t, db); after != before {
		t.Errorf("a second Up made %s of %s", after, before)
	}
}

func TestConcurrentRunnersTakeTurns(t *testing.T) {
	url := pgtest.URL(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			db, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close(context.Background())
			if err := Up(t.Context(), db); err != nil {
				t.Errorf("running beside others: %v", err)
			}
		})
	}
	group.Wait()
}

func TestADatabaseNewerThanTheBinaryIsRefused(t *testing.T) {
	db := connect(t)
	must(t, Up(t.Context(), db))
	all, err := load(files)
	must(t, err)
	err = upTo(t.Context(), db, all[:1])
	var newer *NewerError
	if !errors.As(err, &newer) || newer.Database != len(all) || newer.Binary != 1 {
		t.Errorf("got %v, want a NewerError of %d and 1", err, len(all))
	}
}

func TestAFailingMigrationLeavesNothing(t *testing.T) {
	db := connect(t)
	all, err := load(files)
	must(t, err)
	all = append(all, migration{version: len(all) + 1, name: "broken", up: "CREATE TABLE sr.half (); SELECT nonsense"})
	if err := upTo(t.Context(), db, all); err == nil || !strings.Contains(err.Error(), "_broken: at character 33") {
		t.Errorf("got %v, want an error that names the migration and the place", err)
	}
	if got := describe(t, db); got != "" {
		t.Errorf("a failed run left %s", got)
	}
}

func TestStatusTellsWhatIsApplied(t *testing.T) {
	db := connect(t)
	before, err := Status(t.Context(), db)
	must(t, err)
	must(t, Up(t.Context(), db))
	after, err := Status(t.Context(), db)
	must(t, err)
	for i := range after {
		if !before[i].Applied.IsZero() || after[i].Applied.IsZero() || after[i].Version != i+1 {
			t.Errorf("step %d: before %+v, after %+v", i, before[i], after[i])
		}
	}
}

func TestEachFileOpensByTellingWhy(t *testing.T) {
	all, err := load(files)
	must(t, err)
	for _, m := range all {
		for _, sql := range []string{m.up, m.down} {
			if !strings.HasPrefix(sql, "-- Why: ") {
				t.Errorf("%04d_%s begins with %.20q", m.version, m.name, sql)
			}
		}
	}
}

// describe lists the relations and functions of schemas sr and sr_state, keys and indexes apart.
func describe(t *testing.T, db *pgx.Conn) string {
	t.Helper()
	var names *string
	must(t, db.QueryRow(t.Context(), `
		SELECT string_agg(name, ' ' ORDER BY name) FROM (
			SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'v') AND relnamespace::regnamespace::text IN ('sr', 'sr_state')
			UNION ALL
			SELECT oid::regproc::text FROM pg_proc WHERE pronamespace::regnamespace::text IN ('sr', 'sr_state')
		) AS t(name)`).Scan(&names))
	if names == nil {
		return ""
	}
	return *names
}

func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(t.Context(), pgtest.URL(t))
	must(t, err)
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
