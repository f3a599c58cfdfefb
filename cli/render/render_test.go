package render_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/selfregulating/sr/cli/render"
)

type found struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since_time"`
	Tags  []string  `json:"tags"`
	Notes []string  `json:"notes"`
	Ratio float64   `json:"ratio"`
}

var since = time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("east", 7200))

var answer = render.Answer{
	Value: found{Name: "true", Since: since.UTC(), Tags: []string{"a: b", "<c>"}, Notes: []string{}, Ratio: 0.5},
	Sections: []render.Section{
		{Title: "Found", Columns: []string{"name", "since", "tags", "took", "sure", "left"}, Rows: [][]any{
			{"true", since, []string{"a: b", "<c>"}, 1234567 * time.Microsecond, true, nil},
			{"a text that is so long that it takes more than one line of its column", time.Time{}, []string(nil), time.Second, false, ""},
		}},
		{Title: "Lost", Columns: []string{"name"}},
		{Title: "Notes", Lines: []string{"  one", "  two"}},
	},
	Names: []string{"yes", "no"},
}

func TestAnAnswerHasOneFormForEachReader(t *testing.T) {
	for _, c := range []struct {
		format render.Format
		want   string
	}{
		{render.Table, `Found:
  NAME                                       SINCE                 TAGS       TOOK    SURE  LEFT
  true                                       2026-01-02T01:04:05Z  a: b, <c>  1.235s  yes   -
  a text that is so long that it takes more  -                     -          1s      no    -
  than one line of its column

Lost: none

Notes:
  one
  two
`},
		{render.JSON, `{
  "name": "true",
  "since_time": "2026-01-02T01:04:05.0000006Z",
  "tags": [
    "a: b",
    "<c>"
  ],
  "notes": [],
  "ratio": 0.5
}
`},
		{render.YAML, `name: "true"
since_time: "2026-01-02T01:04:05.0000006Z"
tags:
  - 'a: b'
  - <c>
notes: []
ratio: 0.5
`},
		{render.Name, "yes\nno\n"},
	} {
		var out bytes.Buffer
		if err := render.NewPrinter(&out, c.format).Print(answer); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.want {
			t.Errorf("%s prints\n%s\nwant\n%s", c.format, out.String(), c.want)
		}
	}
}

func TestFormatsAreRead(t *testing.T) {
	for _, f := range render.Formats {
		if got, err := render.ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("%s is read as %q (%v)", f, got, err)
		}
	}
	if _, err := render.ParseFormat("xml"); err == nil {
		t.Error("xml is taken for a format")
	}
}

func TestAPipeGetsNeitherProgressNorColour(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	bar := render.NewProgress(writer, "feeding", 10, render.Bytes)
	bar.Add(4)
	bar.SetTotal(20)
	bar.End()
	if err := render.NewPrinter(writer, render.Table).Print(render.Answer{Sections: []render.Section{{Title: "Found"}}}); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(reader); err != nil {
		t.Fatal(err)
	}
	if out.String() != "Found: none\n" {
		t.Errorf("the pipe got %q", out.String())
	}
}
