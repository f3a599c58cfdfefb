package topology

import (
	"strings"
	"unicode/utf8"
)

// call is name(argument, ...): the grammar of aggregates and of flatMap around expressions.
type call struct {
	name      string
	arguments []argument
}

// argument is the text of an expression, with its place in the call, in characters.
type argument struct {
	text string
	at   int
}

// parseCall takes a call apart; its arguments are not looked into beyond quotes and brackets.
func parseCall(source string) (c call, ok bool) {
	open := strings.IndexByte(source, '(')
	trimmed := strings.TrimRight(source, " \t\r\n")
	if open < 0 || !strings.HasSuffix(trimmed, ")") {
		return c, false
	}
	c.name = strings.TrimSpace(source[:open])
	end := len(trimmed) - 1
	from := open + 1
	add := func(to int) {
		text := strings.TrimLeft(source[from:to], " \t\r\n")
		c.arguments = append(c.arguments, argument{strings.TrimSpace(text), utf8.RuneCountInString(source[:to-len(text)])})
		from = to + 1
	}
	depth, quote := 0, byte(0)
	for i := open + 1; i < end; i++ {
		switch ch := source[i]; {
		case quote != 0:
			if ch == '\\' {
				i++
			} else if ch == quote {
				quote = 0
			}
		case ch == '"' || ch == '\'' || ch == '`':
			quote = ch
		case strings.IndexByte("([{", ch) >= 0:
			depth++
		case strings.IndexByte(")]}", ch) >= 0:
			depth--
		case ch == ',' && depth == 0:
			add(i)
		}
		if depth < 0 {
			return c, false
		}
	}
	if quote != 0 || depth != 0 {
		return c, false
	}
	if strings.TrimSpace(source[from:end]) != "" || len(c.arguments) > 0 {
		add(end)
	}
	return c, true
}
