package topology

import (
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

// KeyType is what a stream may be grouped by.
type KeyType interface {
	string | int64 | float64 | bool
}

// Key is one grouping column.
type Key[T any] struct {
	column state.Column
	// build makes the function of one instance that appends the encoded key field of a tuple.
	build func(checked bool) func(dst []byte, tuple T) ([]byte, error)
	// text is set for a text key: the same as build, not encoded.
	text func(checked bool) func(tuple T) (string, error)
}

// By groups by what f makes of a tuple; column names it in the table.
func By[T any, K KeyType](column string, f func(T) K) Key[T] {
	return by(column, false, func() func(T) (K, error) {
		return func(tuple T) (K, error) { return f(tuple), nil }
	})
}

// ByText groups a stream of texts by the text itself.
func ByText(column string) Key[string] {
	return by(column, true, func() func(string) (string, error) {
		return func(s string) (string, error) { return s, nil }
	})
}

// by makes a key of a function that is built once an instance. piece tells that a text is a field of
// the tuple as it came, so that it needs no check if the stream's texts had theirs.
func by[T any, K KeyType](column string, piece bool, build func() func(T) (K, error)) Key[T] {
	key := Key[T]{column: state.Column{Name: column}}
	switch build := any(build).(type) {
	case func() func(T) (string, error):
		key.column.Type = state.Text
		key.text = func(checked bool) func(T) (string, error) { return checkedText(build(), checked && piece) }
		key.build = func(checked bool) func([]byte, T) ([]byte, error) {
			return encoder(key.text(checked), exchange.AppendText)
		}
	case func() func(T) (int64, error):
		key.column.Type = state.Bigint
		key.build = func(bool) func([]byte, T) ([]byte, error) { return encoder(build(), exchange.AppendInt) }
	case func() func(T) (float64, error):
		key.column.Type = state.Double
		key.build = func(bool) func([]byte, T) ([]byte, error) { return encoder(build(), exchange.AppendFloat) }
	case func() func(T) (bool, error):
		key.column.Type = state.Boolean
		key.build = func(bool) func([]byte, T) ([]byte, error) { return encoder(build(), exchange.AppendBool) }
	}
	return key
}

func encoder[T, K any](f func(T) (K, error), encode func([]byte, K) []byte) func([]byte, T) ([]byte, error) {
	return func(dst []byte, tuple T) ([]byte, error) {
		v, err := f(tuple)
		if err != nil {
			return dst, err
		}
		return encode(dst, v), nil
	}
}

// checkedText makes f refuse texts that Postgres cannot store, unless they are known to be good.
func checkedText[T any](f func(T) (string, error), known bool) func(T) (string, error) {
	if known {
		return f
	}
	return func(tuple T) (string, error) {
		s, err := f(tuple)
		if err == nil {
			err = exchange.CheckText(s)
		}
		return s, err
	}
}

// Grouped is a stream with its grouping columns.
type Grouped[T any] struct {
	stream Stream[T]
	keys   []Key[T]
	codec  Codec[T]
}

// GroupBy groups a stream. Without a key all tuples are one group, and the aggregate is one row.
func GroupBy[T any](s Stream[T], keys ...Key[T]) Grouped[T] {
	return Grouped[T]{stream: s, keys: keys}
}
