package topology

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// within is the place of a character of the text in a node, as far as it can be told: YAML unescapes
// and folds, so the character is looked up in the file, and the begin of the node is the answer where
// it is not found.
func (r *reader) within(n *yaml.Node, at int) place {
	begin := where(n)
	if begin.line > len(r.lines) || strings.Contains(n.Value, "\n") {
		return begin
	}
	guess := begin
	guess.column += at
	if n.Style == yaml.DoubleQuotedStyle || n.Style == yaml.SingleQuotedStyle {
		guess.column++
	}
	written := after(r.lines[begin.line-1], guess.column-1)
	if rest := after(n.Value, at); rest != "" && !strings.HasPrefix(written, rest) {
		return begin
	}
	return guess
}

// after cuts the first n characters off.
func after(s string, n int) string {
	for ; n > 0 && s != ""; n-- {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return s
}
