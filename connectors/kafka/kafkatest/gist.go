package kafkatest

import "strings"

// gist answers the last lines of what a Java program wrote, without stack traces and the log of what
// went well: a broker says a hundred such lines after the one that explains its end.
func gist(text []byte) string {
	const most = 15
	var told []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if line != "" && !strings.HasPrefix(line, "\tat ") && !strings.Contains(line, " INFO ") {
			told = append(told, line)
		}
	}
	return strings.Join(told[max(0, len(told)-most):], "\n")
}
