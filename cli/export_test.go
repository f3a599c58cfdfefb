package cli

// UntilInterrupted is for a program of the tests that does not end by itself.
var UntilInterrupted = untilInterrupted
