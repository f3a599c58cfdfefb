package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Section is a table under a title, or lines of text.
type Section struct {
	Title string
	// Columns are the headings, and Rows hold a value for each. Text, numbers, times, durations, bools
	// and lists of text are shown as people expect; nil and empty values as "-".
	Columns []string
	Rows    [][]any
	// Lines are printed instead of a table where there are no Columns.
	Lines []string
}

// maxCell is how wide a column gets before its text is wrapped.
const maxCell = 44

// sections prints sections with an empty line between them. One that holds nothing says so.
func (s style) sections(all []Section) ([]byte, error) {
	var out bytes.Buffer
	for i, section := range all {
		if i > 0 {
			fmt.Fprintln(&out)
		}
		if err := s.section(&out, section); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

func (s style) section(out io.Writer, section Section) error {
	if len(section.Rows) == 0 && len(section.Lines) == 0 {
		fmt.Fprintf(out, "%s none\n", s.bold(section.Title+":"))
		return nil
	}
	if section.Title != "" {
		fmt.Fprintln(out, s.bold(section.Title+":"))
	}
	if len(section.Columns) == 0 {
		fmt.Fprintln(out, strings.Join(section.Lines, "\n"))
		return nil
	}
	return s.table(out, section)
}

func (s style) table(out io.Writer, section Section) error {
	// The table pads its last column; what is copied or compared should have no spaces there.
	trimmed := &trimmer{out: out}
	table := tablewriter.NewTable(trimmed,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithRowAutoWrap(tw.WrapNormal),
		tablewriter.WithRowMaxWidth(maxCell),
		tablewriter.WithPadding(tw.Padding{Left: "  ", Right: "", Overwrite: true}),
	)
	heads := make([]any, len(section.Columns))
	for i, c := range section.Columns {
		heads[i] = strings.ToUpper(c)
	}
	table.Header(heads...)
	for _, row := range section.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = s.cell(v)
		}
		if err := table.Append(cells); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	return trimmed.flush()
}

// trimmer takes the spaces at the end of lines away.
type trimmer struct {
	out  io.Writer
	line []byte
}

func (t *trimmer) Write(p []byte) (int, error) {
	written := len(p)
	for {
		part, rest, whole := bytes.Cut(p, []byte("\n"))
		t.line = append(t.line, part...)
		if !whole {
			return written, nil
		}
		t.line = append(bytes.TrimRight(t.line, " "), '\n')
		if err := t.flush(); err != nil {
			return 0, err
		}
		p = rest
	}
}

func (t *trimmer) flush() error {
	_, err := t.out.Write(t.line)
	t.line = t.line[:0]
	return err
}
