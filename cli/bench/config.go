package bench

import (
	"errors"
	"fmt"
	"io"
)

// Config of a run. Zero values mean the defaults in the comments.
type Config struct {
	// Kafka are the brokers to use; empty starts an embedded one as a process of its own.
	Kafka []string
	// Postgres is the URL of the database; empty starts a local server.
	Postgres string
	// Program and Command start sr: Program is the executable, such as os.Executable(); Kafka's embedded
	// process is "internal kafka" of it, the topology "run".
	Program string
	// Dir is a folder for the servers' data and the topology file.
	Dir string
	// Topic to create (default "sr-bench"); it must not exist.
	Topic string
	// Records (default 10 M, 20 M for zipf) of Bytes (200) over Distinct words (450,000), in Partitions (16).
	Records    int64
	Bytes      int
	Distinct   int
	Partitions int
	// Buckets of the exchange (64) and Parallelism of the counting operator (2).
	Buckets, Parallelism int
	// Distribution of the words (uniform).
	Distribution Distribution
	// Seed of the text (1).
	Seed uint64
	// Loops tells whether the plain loops are run too.
	Loops bool
	// Light is the seconds of light load: 1,000 records a second; 0 leaves it out.
	Light int
	// Log takes progress and the output of the processes.
	Log io.Writer
}

func (c *Config) defaults() error {
	if c.Program == "" || c.Dir == "" {
		return errors.New("bench: program and dir are needed")
	}
	if c.Distribution == "" {
		c.Distribution = Uniform
	}
	if c.Records == 0 {
		c.Records = 10_000_000
		if c.Distribution == Zipf {
			c.Records = 20_000_000
		}
	}
	for _, d := range []struct {
		v *int
		d int
	}{{&c.Bytes, 200}, {&c.Distinct, 450_000}, {&c.Partitions, 16}, {&c.Buckets, 64}, {&c.Parallelism, 2}} {
		if *d.v == 0 {
			*d.v = d.d
		}
		if *d.v < 1 {
			return fmt.Errorf("bench: %d is not a size", *d.v)
		}
	}
	if c.Records < int64(c.Partitions)*100 {
		return fmt.Errorf("bench: %d records are too few to measure; give at least %d", c.Records, c.Partitions*100)
	}
	if c.Topic == "" {
		c.Topic = "sr-bench"
	}
	if c.Seed == 0 {
		c.Seed = 1
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	return nil
}

// topology is the word count as a user would write it.
func (c *Config) topology() string {
	return fmt.Sprintf(`topology: srbench
spouts:
  sentences: {topic: %q, kind: opaque, decode: text}
operators:
  words:  {from: sentences, flatMap: 'split(value, " ")', as: word}
  counts: {from: words, groupBy: [word], persistentAggregate: {count: count()}, table: sr_bench_counts, parallelism: %d, buckets: %d}
`, c.Topic, c.Parallelism, c.Buckets)
}
