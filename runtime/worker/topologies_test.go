package worker

import (
	"github.com/selfregulating/sr/runtime/topology"
)

// buckets of the exchanges in tests: few, so that several meet in one commit.
const buckets = 4

func from(kind topology.SpoutKind) topology.Kafka {
	return topology.Kafka{Topic: sentences, Kind: kind}
}

// guarantee is what a topology has to name for a kind of spout.
func guarantee(kind topology.SpoutKind) topology.Promise {
	switch kind {
	case topology.AtLeastOnce:
		return topology.AtLeast
	case topology.AtMostOnce:
		return topology.AtMost
	}
	return ""
}

func words(b *topology.Builder, k topology.Kafka) topology.Grouped[string] {
	split := topology.Split(topology.From(b, "in", k, topology.Text), "split", " ")
	return topology.GroupBy(split, topology.ByText("word"))
}

// wordCount counts words behind an exchange.
func wordCount(k topology.Kafka) *topology.Builder {
	b := topology.New("test")
	topology.PersistentAggregate(words(b, k), "counts",
		topology.StateConfig{Buckets: buckets, Guarantee: guarantee(k.Kind)}, topology.Count[string]("count"))
	return b
}

// direct counts words in the source's own commit.
func direct(k topology.Kafka) *topology.Builder {
	b := topology.New("test")
	topology.PersistentAggregate(words(b, k), "counts",
		topology.StateConfig{PartitionedByKey: true, Guarantee: guarantee(k.Kind)}, topology.Count[string]("count"))
	return b
}

// reduced counts words in memory, from rows that are read: behind an exchange, or in the source's commit.
func reduced(direct bool) func(topology.Kafka) *topology.Builder {
	return func(k topology.Kafka) *topology.Builder {
		b := topology.New("test")
		config := topology.StateConfig{PartitionedByKey: direct, Guarantee: guarantee(k.Kind)}
		if !direct {
			config.Buckets = buckets
		}
		topology.PersistentAggregate(words(b, k), "counts", config,
			topology.ReduceTo("count", func() int64 { return 0 }, func(n int64, _ string) (int64, error) { return n + 1, nil }))
		return b
	}
}

// chain counts words, and hands each new count on through a second exchange: newest has how often one
// came and the greatest.
func chain(k topology.Kafka) *topology.Builder {
	b := topology.New("test")
	counts := topology.PersistentAggregate(words(b, k), "counts",
		topology.StateConfig{Buckets: buckets, Guarantee: guarantee(k.Kind)}, topology.Count[string]("count"))
	byWord := topology.By("word", func(v topology.KeyValue) string { return v.Key[0].(string) })
	topology.PersistentAggregate(topology.GroupBy(topology.NewValues(counts), byWord), "newest",
		topology.StateConfig{Buckets: buckets, Guarantee: guarantee(k.Kind)},
		topology.Count[topology.KeyValue]("changes"),
		topology.Max("count", func(v topology.KeyValue) int64 { return v.Values[0].(int64) }))
	return b
}

// shapes are the ways from a source to state.
var shapes = map[string]func(topology.Kafka) *topology.Builder{
	"exchange": wordCount, "direct": direct, "keyed to keyed": chain, "reduced": reduced(false), "direct, reduced": reduced(true),
}

// exactly are the kinds of spouts that count every tuple once.
var exactly = []topology.SpoutKind{topology.Opaque, topology.Transactional}
