// Package bench answers a user's question: how fast would the word count be on my cluster? It fills
// a topic, runs the topology as its own process, and in the same run the plain loops that nobody can
// beat: a franz-go consumer that splits and counts, with no output at all. Rates are given as ratios,
// because the speed of a machine varies by half between minutes.
package bench
