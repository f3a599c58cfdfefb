package topology

import (
	"encoding/json"
	"fmt"
	"unsafe"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/broker"
	"github.com/selfregulating/sr/runtime/exchange"
)

// Kafka says what a spout reads. The zero value of every field but Topic is its default.
type Kafka struct {
	Topic string
	// Kind is what a replay of a batch holds; Opaque by default.
	Kind SpoutKind
	// Start is where a partition without progress begins; the earliest offset by default.
	Start Start
	// OutOfRange is what happens when the next offset is gone from the log; by default the spout stops.
	OutOfRange RangePolicy
	// ReadUncommitted shows records of open and aborted Kafka transactions too.
	ReadUncommitted bool
	// Retries is how often a record whose function failed is tried again; 0 means DefaultRetries,
	// negative means never.
	Retries int
	// Parallelism is the number of instances of the stage; 0 means 1.
	Parallelism int
}

// DefaultRetries is how often a failing record is tried again before it is a dead letter.
const DefaultRetries = 3

type spoutNode struct {
	config Kafka
	// read makes the function that handles one record.
	read func(in *instance) func(*broker.Record) error
}

// Decoder makes tuples of records.
type Decoder[T any] struct {
	// build makes the function of one instance. What it returns is valid until the next call.
	build   func() func(*broker.Record) (T, error)
	checked bool
	// problem is what is wrong with the declaration.
	problem error
}

// DecoderFunc makes a Decoder of a function. It may keep nothing of the record.
func DecoderFunc[T any](f func(*broker.Record) (T, error)) Decoder[T] {
	return Decoder[T]{build: func() func(*broker.Record) (T, error) { return f }}
}

// Text decodes the value of a record as text: a view of it. A value that Postgres could not store as
// text (invalid UTF-8, or a NUL) is a dead letter; use Raw to take it all the same.
var Text = Decoder[string]{
	checked: true,
	build: func() func(*broker.Record) (string, error) {
		return func(r *broker.Record) (string, error) {
			text := view(r.Value)
			return text, exchange.CheckText(text)
		}
	},
}

// Raw hands the record on as it is.
var Raw = DecoderFunc(func(r *broker.Record) (*broker.Record, error) { return r, nil })

// JSON decodes the value of a record into a T, by the rules of encoding/json.
func JSON[T any]() Decoder[T] {
	return DecoderFunc(func(r *broker.Record) (T, error) {
		var tuple T
		err := json.Unmarshal(r.Value, &tuple)
		return tuple, err
	})
}

// From reads a topic. The name names the progress: a spout with another name reads from the start.
func From[T any](b *Builder, name string, from Kafka, decoder Decoder[T]) Stream[T] {
	return readFrom(b, place{}, name, from, decoder)
}

func readFrom[T any](b *Builder, at place, name string, from Kafka, decoder Decoder[T]) Stream[T] {
	n := &node{name: name, at: at}
	n.spout = &spoutNode{config: from, read: func(in *instance) func(*broker.Record) error {
		decode, emit := decoder.build(), downstream[T](n, in)
		return func(r *broker.Record) error {
			tuple, err := decode(r)
			if err != nil {
				return fmt.Errorf("decoding a record of %s: %w", from.Topic, err)
			}
			return emit(tuple)
		}
	}}
	b.insert(n)
	if err := from.validate(); err != nil {
		b.add(at, "spout %s: %v", name, err)
	}
	if decoder.problem != nil {
		b.add(at, "spout %s: %v", name, decoder.problem)
	}
	return Stream[T]{b: b, n: n, checked: decoder.checked}
}

func (k Kafka) validate() error {
	switch {
	case !isTopic(k.Topic):
		return fmt.Errorf("%q is not the name of a Kafka topic (letters, digits, '.', '_' and '-', at most 249); name the topic to read", clip(k.Topic))
	case k.Kind > AtMostOnce:
		return fmt.Errorf("kind %d is unknown; use Opaque, Transactional, AtLeastOnce or AtMostOnce", k.Kind)
	case k.Parallelism < 0 || k.Parallelism > maxParallelism:
		return fmt.Errorf("parallelism is %d; it must be from 1 to %d", k.Parallelism, maxParallelism)
	case k.Retries > maxRetries:
		return fmt.Errorf("retries is %d; it must be at most %d", k.Retries, maxRetries)
	}
	return nil
}

const (
	maxParallelism = 10_000
	maxRetries     = 1_000
)

func isTopic(name string) bool {
	for _, c := range []byte(name) {
		letter := c == '.' || c == '_' || c == '-' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter {
			return false
		}
	}
	return name != "" && name != "." && name != ".." && len(name) <= 249
}

func (n *node) spoutOf() *Spout {
	c := n.spout.config
	retries := c.Retries
	switch {
	case retries == 0:
		retries = DefaultRetries
	case retries < 0:
		retries = 0
	}
	return &Spout{
		ID: runtime.OperatorID(n.name), Topic: c.Topic, Kind: c.Kind, Start: c.Start, OutOfRange: c.OutOfRange,
		ReadCommitted: !c.ReadUncommitted, Retries: retries,
	}
}

// view reads b as a string without a copy; it is valid as long as b is.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
