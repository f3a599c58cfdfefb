//go:build kafka && mutants

package chaos

// nodeTags have the node obey SR_MUTANT too.
const nodeTags = "chaos,mutants"
