// Package render prints the answers of commands: tables for people, JSON and YAML for programs, names
// for shells. Commands say what the answer is (Answer); this package alone knows how it looks.
//
// On a terminal headings are bold and times local; what goes to a pipe or a file has neither colour
// nor control characters, and times by RFC 3339. NO_COLOR in the environment is heeded.
package render
