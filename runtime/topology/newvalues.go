package topology

import (
	"fmt"

	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

// KeyValue is a key of a state with the values it has after a batch: int64, float64, bool, or string
// for text, numeric and jsonb, in the order of the columns.
type KeyValue struct {
	Key, Values []any
}

// NewValues is the stream of the new values of a state: one tuple for each key that a batch changed.
// How often a key comes depends on how its tuples fell into batches; its last value is its newest.
// A state whose new values are read is read, modified and written in memory, not folded in SQL.
func NewValues(s State) Stream[KeyValue] {
	k := s.n.keyed
	k.emit = func(in *instance) func([]byte, []any) error {
		emit := downstream[KeyValue](s.n, in)
		return func(key []byte, row []any) error {
			fields, err := keyFields(key)
			if err != nil {
				return fmt.Errorf("reading a key of %s: %w", s.n.name, err)
			}
			return emit(KeyValue{Key: fields, Values: row})
		}
	}
	if k.config.PartitionedByKey {
		s.b.add(s.n.at, "operator %s: new values of a state that is partitionedByKey cannot be read; leave partitionedByKey out", s.n.name)
	}
	for _, v := range k.values {
		if v.Fold == state.FoldAvg {
			s.b.add(s.n.at, "operator %s: new values of the mean %s cannot be read; keep a sum and a count", s.n.name, v.Name)
		}
	}
	return Stream[KeyValue]{b: s.b, n: s.n}
}

// keyFields decodes a key. Its texts are copies.
func keyFields(key []byte) ([]any, error) {
	var fields []any
	for len(key) > 0 {
		f, rest, err := exchange.NextField(key)
		if err != nil {
			return nil, err
		}
		switch f.Kind {
		case exchange.Text:
			fields = append(fields, string(f.Text()))
		case exchange.Bigint:
			fields = append(fields, f.Int())
		case exchange.Double:
			fields = append(fields, f.Float())
		case exchange.Boolean:
			fields = append(fields, f.Bool())
		}
		key = rest
	}
	return fields, nil
}
