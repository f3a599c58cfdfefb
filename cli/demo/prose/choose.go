package prose

import (
	"math"
	"math/rand/v2"
	"sort"
	"strings"
)

// zipf is the exponent of the frequencies: the word of rank r comes 1/r^zipf as often as the first.
const zipf = 0.9

// list is words in order of frequency.
type list struct {
	words []string
	// upTo is the weight of the words up to and with each one: whole numbers, alike on every machine.
	upTo []int
}

func listOf(words []string) list {
	l := list{words: words, upTo: make([]int, len(words))}
	total := 0
	for rank := range words {
		total += int(math.Round(1e6 * math.Pow(float64(rank+1), -zipf)))
		l.upTo[rank] = total
	}
	return l
}

// joined is all pairs of a word and an ending, spread so that neither decides how frequent a pair is.
func joined(heads, tails []string, between string) list {
	n := len(heads) * len(tails)
	step := coprime(n)
	words := make([]string, n)
	for i := range words {
		at := i * step % n
		words[i] = heads[at%len(heads)] + between + tails[at/len(heads)]
	}
	return listOf(words)
}

// coprime is a step that visits all of 0..n-1, far from 1.
func coprime(n int) int {
	step := n*5/8 | 1
	for gcd(step, n) != 1 {
		step += 2
	}
	return step
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func each(words []string, change func(string) string) []string {
	changed := make([]string, len(words))
	for i, w := range words {
		changed[i] = change(w)
	}
	return changed
}

func plural(noun string) string {
	switch last := noun[len(noun)-1]; {
	case last == 's' || last == 'x' || strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "sh"):
		return noun + "es"
	case strings.HasSuffix(noun, "shelf"), strings.HasSuffix(noun, "loaf"):
		return noun[:len(noun)-1] + "ves"
	case last == 'y' && !strings.ContainsRune("aeiou", rune(noun[len(noun)-2])):
		return noun[:len(noun)-1] + "ies"
	}
	return noun + "s"
}

func adverb(adjective string) string {
	switch {
	case strings.HasSuffix(adjective, "le"):
		return adjective[:len(adjective)-1] + "y"
	case strings.HasSuffix(adjective, "y"):
		return adjective[:len(adjective)-1] + "ily"
	}
	return adjective + "ly"
}

// chance draws from the generator's own bits: what math/rand makes of them may change with Go's versions.
type chance struct{ bits *rand.PCG }

// of is a number from 0 to n-1, where n is far below 2^32.
func (c chance) of(n int) int { return int(c.bits.Uint64() >> 32 * uint64(n) >> 32) }

// often tells whether something that happens percent times in a hundred happens.
func (c chance) often(percent int) bool { return c.of(100) < percent }

// from takes a word as often as its rank says.
func (c chance) from(l list) string {
	at := c.of(l.upTo[len(l.upTo)-1])
	return l.words[sort.SearchInts(l.upTo, at+1)]
}

// any takes any word as often as any other.
func (c chance) any(words []string) string { return words[c.of(len(words))] }
