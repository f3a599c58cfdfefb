package topology

import (
	"fmt"
	"slices"
	"strings"
)

// The names of topologies and operators become parts of Kafka topics (sr.<topology>.<operator>.<hex>)
// and of Postgres tables (sr_state.<topology>__<operator>, 63 bytes), unquoted and unchanged.
const (
	maxTopologyName = 30
	maxOperatorName = 31
	maxIdentifier   = 63
	nameRule        = "a lower-case letter, then lower-case letters, digits and single underscores, no underscore last"
)

// checkName answers with what is wrong with the name of a topology, spout or operator.
func checkName(name string, longest int) error {
	switch {
	case name == "":
		return fmt.Errorf("a name is missing; use %s", nameRule)
	case len(name) > longest:
		return fmt.Errorf("the name %q has %d bytes, at most %d fit into a table name; shorten it", clip(name), len(name), longest)
	case !isName(name):
		return fmt.Errorf("%q cannot be a name, because it becomes part of topic and table names; use %s", clip(name), nameRule)
	}
	return nil
}

func isName(name string) bool {
	if name[0] < 'a' || name[0] > 'z' || name[len(name)-1] == '_' || strings.Contains(name, "__") {
		return false
	}
	for _, c := range []byte(name) {
		if !(c == '_' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}

// checkView answers with what is wrong with the name of a view.
func checkView(name string) error {
	if len(name) > maxIdentifier || name == "" || !isField(name) || strings.ToLower(name) != name {
		return fmt.Errorf("table %q cannot be the name of a view; use lower-case letters, digits and underscores, not a digit first, at most %d bytes",
			clip(name), maxIdentifier)
	}
	return nil
}

// isField tells whether a name can be used for a field: in expressions, and as a column.
func isField(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && !slices.Contains(expressionWords, name)
}

// expressionWords mean something in expressions, so no field may have their name.
var expressionWords = []string{
	"true", "false", "nil", "not", "and", "or", "in", "let", "if", "else", "matches", "contains", "startsWith", "endsWith",
}

const fieldRule = "letters, digits and underscores, not a digit first, and no word of the expression language"

// didYouMean suggests the known word that an unknown one is closest to; empty if none is close.
func didYouMean(word string, known []string) string {
	best, distance := "", len(word)/2+1
	for _, k := range known {
		if d := editDistance(clip(word), k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// editDistance counts the letters to insert, delete, replace or swap with their neighbour.
func editDistance(a, b string) int {
	two, one, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			replace := one[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(one[j+1]+1, row[j]+1, replace)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], two[j-1]+1)
			}
		}
		two, one, row = one, row, two
	}
	return one[len(b)]
}

// clip shortens what a message quotes.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}
