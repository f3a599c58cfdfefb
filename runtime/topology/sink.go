package topology

import (
	"fmt"

	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
)

// sink is the end of a stage: it encodes the key of a tuple and adds its cells to a table.
type sink[T any] struct {
	node       *node
	keys       []Key[T]
	aggregates []Aggregate[T]
	codec      Codec[T]
	checked    bool
}

// build makes the function of one instance.
func (s sink[T]) build(in *instance) func(T) error {
	table := in.tables[s.node]
	if s.countsTexts() {
		return s.textCounts(table)
	}
	key, cells := s.key(), s.cells()
	var keyBytes []byte
	var row []exchange.Cell
	return func(tuple T) (err error) {
		if keyBytes, err = key(keyBytes[:0], tuple); err != nil {
			return fmt.Errorf("grouping for %s: %w", s.node.name, err)
		}
		if row, err = cells(row[:0], tuple); err != nil {
			return fmt.Errorf("aggregating for %s: %w", s.node.name, err)
		}
		table.Add(keyBytes, row...)
		return nil
	}
}

// countsTexts tells whether the state is the commonest: a count by one text.
func (s sink[T]) countsTexts() bool {
	values := s.node.keyed.values
	return len(s.keys) == 1 && s.keys[0].text != nil && len(values) == 1 && values[0].Fold == state.FoldCount
}

func (s sink[T]) textCounts(table *exchange.Table) func(T) error {
	text := s.keys[0].text(s.checked)
	return func(tuple T) error {
		k, err := text(tuple)
		if err != nil {
			return fmt.Errorf("grouping for %s: %w", s.node.name, err)
		}
		table.AddText(k, 1)
		return nil
	}
}

// key makes the function that appends the encoded key of a tuple.
func (s sink[T]) key() func([]byte, T) ([]byte, error) {
	fields := make([]func([]byte, T) ([]byte, error), len(s.keys))
	for i, k := range s.keys {
		fields[i] = k.build(s.checked)
	}
	if len(fields) == 1 {
		return fields[0]
	}
	return func(dst []byte, tuple T) (_ []byte, err error) {
		for _, field := range fields {
			if dst, err = field(dst, tuple); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
}

// cells makes the function that appends the cells of a tuple.
func (s sink[T]) cells() func([]exchange.Cell, T) ([]exchange.Cell, error) {
	if s.codec.Append != nil {
		return s.tuple()
	}
	columns := make([]func([]exchange.Cell, T) ([]exchange.Cell, error), len(s.aggregates))
	for i, a := range s.aggregates {
		columns[i] = a.build(s.checked)
	}
	return func(dst []exchange.Cell, tuple T) (_ []exchange.Cell, err error) {
		for _, column := range columns {
			if dst, err = column(dst, tuple); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
}

// tuple makes the function that appends the tuple itself as a cell.
func (s sink[T]) tuple() func([]exchange.Cell, T) ([]exchange.Cell, error) {
	var data []byte
	return func(dst []exchange.Cell, tuple T) (_ []exchange.Cell, err error) {
		if data, err = s.codec.Append(data[:0], tuple); err != nil {
			return dst, err
		}
		return append(dst, exchange.Bytes(data)), nil
	}
}
