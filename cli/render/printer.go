package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Format is how an answer is printed.
type Format string

// The formats.
const (
	Table Format = "table"
	JSON  Format = "json"
	YAML  Format = "yaml"
	Name  Format = "name"
)

// Formats lists all formats, the default first.
var Formats = []Format{Table, JSON, YAML, Name}

// ParseFormat reads what a user gave as --output.
func ParseFormat(word string) (Format, error) {
	if f := Format(word); slices.Contains(Formats, f) {
		return f, nil
	}
	return "", fmt.Errorf("output %q is unknown; use table, json, yaml or name", word)
}

// Answer is what a command found out, in the forms that it is printed in.
type Answer struct {
	// Value is printed as JSON and YAML, by its json tags, which are snake_case; times in seconds.
	Value any
	// Sections are printed as tables.
	Sections []Section
	// Names are printed one a line.
	Names []string
}

// Printer prints answers.
type Printer struct {
	out    io.Writer
	format Format
	style  style
}

// NewPrinter makes a printer. Whether out is a terminal decides about colour and times.
func NewPrinter(out io.Writer, format Format) Printer {
	return Printer{out: out, format: format, style: styleOf(out)}
}

// Print prints an answer, all of it or, on error, perhaps a part.
func (p Printer) Print(a Answer) error {
	var text []byte
	var err error
	switch p.format {
	case JSON:
		text, err = indentedJSON(a.Value)
	case YAML:
		text, err = yamlOf(a.Value)
	case Name:
		text = []byte(strings.Join(append(slices.Clone(a.Names), ""), "\n"))
	default:
		text, err = p.style.sections(a.Sections)
	}
	if err == nil {
		_, err = p.out.Write(text)
	}
	if err != nil {
		return fmt.Errorf("printing the answer: %w", err)
	}
	return nil
}

func indentedJSON(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(v)
	return text.Bytes(), err
}

// yamlOf prints what JSON would hold: one set of names and forms for both.
func yamlOf(v any) ([]byte, error) {
	text, err := indentedJSON(v)
	if err != nil {
		return nil, err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, err
	}
	plain(&node)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err = encoder.Encode(&node)
	return out.Bytes(), err
}

// plain takes JSON's brackets and quotes off; the encoder puts quotes back where a text needs them.
func plain(n *yaml.Node) {
	n.Style = 0
	if len(n.Content) == 0 && n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	for _, child := range n.Content {
		plain(child)
	}
}
