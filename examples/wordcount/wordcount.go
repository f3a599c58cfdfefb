// Package wordcount counts the words of the topic "sentences": one sentence a record, words split at
// spaces (0x20), kept in the view word_counts(word, count). topology.yaml says the same.
package wordcount

import "github.com/selfregulating/sr/runtime/topology"

// Topology is the word count, to be planned or extended.
func Topology() *topology.Builder {
	b := topology.New("wordcount")
	sentences := topology.From(b, "sentences", topology.Kafka{Topic: "sentences", Kind: topology.Opaque}, topology.Text)
	words := topology.Split(sentences, "words", " ")
	topology.PersistentAggregate(
		topology.GroupBy(words, topology.ByText("word")), "counts",
		topology.StateConfig{Table: "word_counts", Parallelism: 2, Buckets: 64},
		topology.Count[string]("count"),
	)
	return b
}
