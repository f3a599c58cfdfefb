package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Config says what to feed, and where.
type Config struct {
	// Bytes of text to make up and feed; without effect if File is given.
	Bytes int64
	// File to feed instead, a line a record.
	File string
	// Rate of feeding in bytes a second; 0 is as fast as possible.
	Rate float64
	// Keep is a folder for the broker's data and the database, where the next run goes on. Empty means a folder that is
	// removed in the end.
	Keep string
	// Kafka are the arguments by which this program serves a broker (kafkalocal.Config).
	Kafka []string
	// Count runs the word count.
	Count Counter
	// Screen is the standard error: a terminal gets a table that is drawn anew, anything else lines.
	Screen io.Writer
}

// Counter runs the word count until ctx ends, then drains and returns nil, or what went wrong.
type Counter func(ctx context.Context, job Job) error

// Job is one life of the word count.
type Job struct {
	// Kafka is a broker, HOST:PORT; Postgres the URL of a database.
	Kafka, Postgres string
	// UntilCaughtUp ends it when all that was there at its start is counted.
	UntilCaughtUp bool
	Log           *slog.Logger
}

// ArgumentError tells of a Config that cannot be meant.
type ArgumentError struct{ err error }

func (e *ArgumentError) Error() string { return e.err.Error() }
func (e *ArgumentError) Unwrap() error { return e.err }

// StartError tells of a server that could not be had: nothing to run on, no Postgres to fetch, a folder in use.
type StartError struct{ err error }

func (e *StartError) Error() string { return e.err.Error() }
func (e *StartError) Unwrap() error { return e.err }

func wrongArgument(format string, args ...any) error {
	return &ArgumentError{fmt.Errorf(format, args...)}
}

func (c Config) validate() error {
	switch {
	case c.File == "" && c.Bytes <= 0:
		return wrongArgument("there is no text to feed: ask for a size above 0, or name a file")
	case c.Rate < 0:
		return wrongArgument("the rate of feeding is negative: give bytes a second, or 0 for no bound")
	case len(c.Kafka) == 0 || c.Count == nil || c.Screen == nil:
		return errors.New("demo: Kafka, Count and Screen are needed")
	}
	return nil
}
