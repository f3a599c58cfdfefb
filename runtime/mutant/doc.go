// Package mutant plants faults for tests that must notice them. A rule of the code that could be
// taken out unnoticed carries a hook at its line:
//
//	if row.Epoch != m.Epoch && !mutant.On("noEpochAssert") {
//
// In every ordinary build On is the constant false and the hook costs nothing. Under the build tag
// "mutants" (tests only, never a release) the environment variable SR_MUTANT, or Set, names the
// faults that are on. A mutant is named after what goes wrong, in camel case, once in the module.
package mutant
