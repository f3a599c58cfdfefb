package demo

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/selfregulating/sr/connectors/postgres/pgtest"
)

// database is one with counts as the word count leaves them, made by these statements.
func database(t *testing.T, statements ...string) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	for _, s := range append([]string{
		"CREATE SCHEMA sr",
		`CREATE TABLE sr.dead_letter (partition integer, "offset" bigint, error text)`,
		"CREATE TABLE sr.progress (operator text, position bigint)",
		"CREATE TABLE word_counts (word text, count bigint)",
	}, statements...) {
		if _, err := db.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func TestProofFindsEveryKindOfDifference(t *testing.T) {
	const letter = "INSERT INTO sr.dead_letter VALUES (0, 7, 'no text')"
	for name, c := range map[string]struct {
		rows string // beside two of "the" and one of "dog"
		fed  []string
		want []Difference
	}{
		"exact":   {"", []string{"the dog the", "\xff"}, nil},
		"missing": {"", []string{"the dog the lost", "\xff"}, []Difference{{"lost", 1, 0}}},
		"extra":   {", ('ghost', 3)", []string{"the dog the", "\xff"}, []Difference{{"ghost", 0, 3}}},
		"wrong":   {"", []string{"the dog the the", "\xff"}, []Difference{{"the", 3, 2}}},
		"twice":   {", ('dog', 1)", []string{"the dog the", "\xff"}, []Difference{{"dog", 0, 1}}},
		"letters": {"", []string{"the dog the"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			db := database(t, letter, "INSERT INTO word_counts VALUES ('the', 2), ('dog', 1)"+c.rows)
			r, err := prove(t.Context(), db, truthOf(c.fed...))
			if err != nil {
				t.Fatal(err)
			}
			if r.Exact != (name == "exact") || !reflect.DeepEqual(r.Differences, c.want) {
				t.Errorf("exact: %t, differences: %v, want %v", r.Exact, r.Differences, c.want)
			}
		})
	}
}

func TestProofListsSomeOfManyDifferences(t *testing.T) {
	r, err := prove(t.Context(), database(t), truthOf("a b c d e f g h i j"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Exact || len(r.Differences) != maxDifferences || r.Fed != 10 || r.DistinctFed != 10 || r.Counted != 0 {
		t.Errorf("the proof is %+v", r)
	}
}

func TestLookSeesWhatAnyUserSees(t *testing.T) {
	db := database(t, "INSERT INTO word_counts VALUES ('b', 2), ('c', 9), ('a', 2)",
		"INSERT INTO sr.progress VALUES ('sentences', 3), ('sentences', 4), ('counts', 100)",
		"INSERT INTO sr.dead_letter VALUES (1, 5, 'no text')")
	got, err := look(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	want := glance{top: []wordCount{{"c", 9}, {"a", 2}, {"b", 2}}, counted: 13, rows: 3, read: 7, deadLetters: 1}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it sees %+v, want %+v", got, want)
	}
	reasons, err := letters(t.Context(), db)
	if want := []string{"record 5 of partition 1: no text"}; err != nil || !slices.Equal(reasons, want) {
		t.Errorf("the letters are %q (%v), want %q", reasons, err, want)
	}
}

func TestLookSeesNothingBeforeThereAreTables(t *testing.T) {
	for _, gone := range []string{"DROP TABLE word_counts", "DROP SCHEMA sr CASCADE"} {
		got, err := look(t.Context(), database(t, gone))
		if err != nil || !reflect.DeepEqual(got, glance{}) {
			t.Errorf("after %s it sees %+v (%v)", gone, got, err)
		}
	}
	_, err := look(t.Context(), database(t, "ALTER TABLE word_counts DROP COLUMN count"))
	if err == nil || !strings.Contains(err.Error(), "looking at the counts") {
		t.Errorf("a table of another form gives %v", err)
	}
}
