//go:build kafka && !mutants

package chaos

// nodeTags are the build tags of the node.
const nodeTags = "chaos"
