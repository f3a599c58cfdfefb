package topology

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a topology file in bytes.
const maxFile = 1 << 20

// reader reads YAML nodes by a grammar and reports what does not fit, each with its position.
type reader struct {
	*report
	lines []string // of the file
}

// entry is one key of a mapping with its value.
type entry struct {
	key, value *yaml.Node
}

// keyReader reads the value of one known key.
type keyReader struct {
	key  string
	read func(value *yaml.Node)
}

func where(n *yaml.Node) place { return place{max(n.Line, 1), max(n.Column, 1)} }

// document parses the text into the mapping at its root; nil if that failed.
func (r *reader) document(data []byte) *yaml.Node {
	if len(data) > maxFile {
		r.add(place{1, 1}, "the file has %d bytes, at most %d are read; a topology is a page of text", len(data), maxFile)
		return nil
	}
	r.lines = strings.Split(string(data), "\n")
	var root, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		r.add(place{1, 1}, "the file is empty; it needs topology, spouts and operators")
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	if err := decoder.Decode(&second); err == nil {
		r.add(where(&second), "a second document begins here; write one topology a file")
	} else if !errors.Is(err, io.EOF) {
		r.syntax(err)
	}
	return root.Content[0]
}

var syntaxLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?(?:line (\d+): )?`)

// syntax reports an error of the YAML parser, which has a line but no column.
func (r *reader) syntax(err error) {
	message, line := err.Error(), 1
	if m := syntaxLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = message[len(m[0]):]
	}
	r.add(place{max(line, 1), 1}, "this is not valid YAML: %s", message)
}

// entries lists the keys of a mapping. Keys that repeat, aliases and merges are reported and left out.
func (r *reader) entries(n *yaml.Node, what string) []entry {
	if n.Kind != yaml.MappingNode {
		r.add(where(n), "%s must be a mapping of keys to values, not %s", what, nodeWords(n))
		return nil
	}
	var entries []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		e := entry{n.Content[i], n.Content[i+1]}
		first := slices.IndexFunc(entries, func(o entry) bool { return o.key.Value == e.key.Value })
		switch {
		case e.key.Kind != yaml.ScalarNode || e.key.Tag == "!!merge":
			r.add(where(e.key), "a key of %s must be a plain word, not %s; write it out", what, nodeWords(e.key))
		case first >= 0:
			r.add(where(e.key), "%s is written twice in %s, first on line %d; keep one", clip(e.key.Value), what, entries[first].key.Line)
		default:
			entries = append(entries, e)
		}
	}
	return entries
}

// mapping reads a mapping whose keys are known.
func (r *reader) mapping(n *yaml.Node, what string, known ...keyReader) {
	keys := make([]string, len(known))
	for i, k := range known {
		keys[i] = k.key
	}
	for _, e := range r.entries(n, what) {
		i := slices.Index(keys, e.key.Value)
		if i < 0 {
			r.add(where(e.key), "unknown key %s in %s%s (known: %s)", clip(e.key.Value), what, didYouMean(e.key.Value, keys), strings.Join(keys, ", "))
			continue
		}
		known[i].read(e.value)
	}
}

// scalar reads any value that is one word or text, as text.
func (r *reader) scalar(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.add(where(n), "%s must be a value, not %s", what, nodeWords(n))
		return "", false
	}
	return n.Value, true
}

// text reads a text.
func (r *reader) text(into *string, what string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		switch s, ok := r.scalar(n, what); {
		case !ok:
		case n.Tag != "!!str" && n.Tag != "!!timestamp":
			r.add(where(n), "%s must be a text, not %s; put it in quotes", what, nodeWords(n))
		case s == "":
			r.add(where(n), "%s is empty; give it a value or leave it out", what)
		default:
			*into = s
		}
	}
}

// number reads a whole number from least to most.
func (r *reader) number(into *int, what string, least, most int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		s, ok := r.scalar(n, what)
		if !ok {
			return
		}
		v, err := strconv.Atoi(s)
		if err != nil || v < least || v > most {
			r.add(where(n), "%s is %s; it must be a whole number from %d to %d", what, clip(s), least, most)
			return
		}
		*into = v
	}
}

// flag reads true or false, or on or off.
func (r *reader) flag(into *bool, what string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		s, ok := r.scalar(n, what)
		switch {
		case !ok:
		case s == "true" || s == "on":
			*into = true
		case s == "false" || s == "off":
			*into = false
		default:
			r.add(where(n), "%s is %s; it must be true or false (or on or off)", what, clip(s))
		}
	}
}

// oneOf reads one of the words.
func (r *reader) oneOf(n *yaml.Node, what string, words []string) (string, bool) {
	s, ok := r.scalar(n, what)
	if ok && !slices.Contains(words, s) {
		r.add(where(n), "%s is %s; it must be one of %s%s", what, clip(s), strings.Join(words, ", "), didYouMean(s, words))
		return "", false
	}
	return s, ok
}

// words reads a list of words; one word alone is a list of one.
func (r *reader) words(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		if _, ok := r.scalar(n, what); !ok {
			return nil
		}
		return []*yaml.Node{n}
	}
	var words []*yaml.Node
	for _, c := range n.Content {
		if _, ok := r.scalar(c, "each of "+what); ok {
			words = append(words, c)
		}
	}
	if len(n.Content) == 0 {
		r.add(where(n), "%s is an empty list; name at least one, or leave it out", what)
	}
	return words
}

// nodeWords says what a node is, to people.
func nodeWords(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.AliasNode || n.Tag == "!!merge":
		return "a reference to another place (*, <<)"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "empty"
	}
	return fmt.Sprintf("%q", clip(n.Value))
}
