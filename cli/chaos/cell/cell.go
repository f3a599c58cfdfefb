package cell

import (
	"fmt"
	"strings"

	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/topology"
)

// Shape is the way of the records to the state.
type Shape string

// The shapes.
const (
	// Exchange groups the records again: blocks, decisions, buckets.
	Exchange Shape = "exchange"
	// Direct needs no exchange: the source topic is partitioned by the key.
	Direct Shape = "direct"
	// Chain groups the new values of a state behind an exchange once more, behind a second one.
	Chain Shape = "chain"
)

// Cell is one combination of guarantees.
type Cell struct {
	Spout topology.SpoutKind
	State state.Kind
	Shape Shape
}

func (c Cell) String() string { return fmt.Sprintf("%s/%s/%s", c.Spout, c.State, c.Shape) }

// Parse is the inverse of String.
func Parse(name string) (Cell, error) {
	for _, c := range append(ExactlyOnce(), Weaker()...) {
		if c.String() == name {
			return c, nil
		}
	}
	return Cell{}, fmt.Errorf("there is no cell %q; it is SPOUT/STATE/SHAPE, such as opaque/auto/exchange", name)
}

// ExactlyOnce are the cells in which every id must count exactly once.
func ExactlyOnce() []Cell {
	var all []Cell
	for _, spout := range []topology.SpoutKind{topology.Transactional, topology.Opaque} {
		for _, kind := range []state.Kind{state.Transactional, state.Opaque, state.Auto} {
			for _, shape := range []Shape{Exchange, Direct} {
				all = append(all, Cell{spout, kind, shape})
			}
		}
		all = append(all, Cell{spout, state.Auto, Chain}, Cell{spout, state.Opaque, Chain})
	}
	return all
}

// Weaker are the cells that promise less.
func Weaker() []Cell {
	return []Cell{
		{topology.AtLeastOnce, state.Auto, Exchange},
		{topology.AtMostOnce, state.Auto, Exchange},
	}
}

// Promise of the cell's states.
func (c Cell) Promise() topology.Promise {
	switch c.Spout {
	case topology.AtLeastOnce:
		return topology.AtLeast
	case topology.AtMostOnce:
		return topology.AtMost
	}
	return topology.ExactlyOnce
}

// Options are what a run may choose.
type Options struct {
	Topic string
	// OutOfRange is the spout's policy.
	OutOfRange topology.RangePolicy
}

// Name of every cell's topology; each has a database of its own.
const Name = "chaos"

// Topology keeps, in two tables, what must not be wrong: ids(id, n), a row an id, and
// groups(name, n, weight), where many ids meet in a row.
func (c Cell) Topology(o Options) *topology.Builder {
	b := topology.New(Name)
	records := topology.From(b, "source", topology.Kafka{
		Topic: o.Topic, Kind: c.Spout, OutOfRange: o.OutOfRange, Parallelism: 2,
	}, topology.Text)
	ids := topology.FlatMap(records, "id", func(record string, emit func(string)) error {
		if id, _, _ := strings.Cut(record, " "); id != Noise {
			emit(id)
		}
		return nil
	})
	if c.Shape == Chain {
		first := topology.PersistentAggregate(
			topology.GroupBy(ids, topology.ByText("id")), "first", c.keep("first", 8), topology.Count[string]("n"))
		ids = topology.Map(topology.NewValues(first), "again", once)
	}
	topology.PersistentAggregate(
		topology.GroupBy(ids, topology.ByText("id")), "ids", c.keep("ids", 8), topology.Count[string]("n"))
	topology.PersistentAggregate(
		topology.GroupBy(ids, topology.By("name", Group)), "groups", c.keep("groups", 4),
		topology.Count[string]("n"), topology.Sum("weight", Weight))
	return b
}

// once hands an id on; that its count is not 1 is an error, and so a dead letter.
func once(v topology.KeyValue) (string, error) {
	if n := v.Values[0]; n != int64(1) {
		return "", fmt.Errorf("id %v has the count %v", v.Key[0], n)
	}
	return v.Key[0].(string), nil
}

func (c Cell) keep(table string, buckets int) topology.StateConfig {
	config := topology.StateConfig{Table: table, Kind: c.State, Buckets: buckets, Parallelism: 2}
	if c.Shape == Direct {
		config.PartitionedByKey, config.Buckets, config.Parallelism = true, 0, 1
	}
	if c.Promise() != topology.ExactlyOnce {
		config.Guarantee = c.Promise()
	}
	return config
}
