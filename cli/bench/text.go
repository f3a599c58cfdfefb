package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Text makes sentences of random words. The same seed makes the same sentences.
type Text struct {
	words [][]byte
	pick  func(*rand.Rand) int
	bytes int
	seed  uint64
}

// Distribution of words over the vocabulary.
type Distribution string

// The distributions of the benchmark.
const (
	Uniform Distribution = "uniform"
	Zipf    Distribution = "zipf"
)

// zipfExponent is the s of Zipf's law.
const zipfExponent = 1.05

// NewText prepares sentences of so many bytes over a vocabulary of distinct words of 4 to 12 letters.
func NewText(d Distribution, distinct, bytes int, seed uint64) (*Text, error) {
	if distinct < 1 || bytes < 16 {
		return nil, fmt.Errorf("making text: %d distinct words and %d bytes a sentence make no sentences; use at least 1 and 16", distinct, bytes)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	t := &Text{words: vocabulary(r, distinct), bytes: bytes, seed: seed}
	switch d {
	case Uniform:
		t.pick = func(r *rand.Rand) int { return r.IntN(distinct) }
	case Zipf:
		t.pick = zipf(distinct)
	default:
		return nil, fmt.Errorf("making text: distribution %q is unknown; it is uniform or zipf", d)
	}
	return t, nil
}

func vocabulary(r *rand.Rand, n int) [][]byte {
	seen := make(map[string]bool, n)
	words := make([][]byte, 0, n)
	for len(words) < n {
		w := make([]byte, 4+r.IntN(9))
		for i := range w {
			w[i] = byte('a' + r.IntN(26))
		}
		if !seen[string(w)] {
			seen[string(w)] = true
			words = append(words, w)
		}
	}
	return words
}

// zipf draws ranks 0 to n-1 with weight 1/(rank+1)^1.05, by inverting a table of cumulated weights.
func zipf(n int) func(*rand.Rand) int {
	sums := make([]float64, n)
	var sum float64
	for i := range sums {
		sum += math.Pow(float64(i+1), -zipfExponent)
		sums[i] = sum
	}
	return func(r *rand.Rand) int {
		x := r.Float64() * sum
		lo, hi := 0, n-1
		for lo < hi {
			mid := (lo + hi) / 2
			if sums[mid] < x {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		return lo
	}
}

// Source makes the sentences of one partition; each call appends the next one to dst. What is left
// after the last word that fits is filled with spaces, so that no word is cut. Some sentences begin
// with a marker.
func (t *Text) Source(partition int) func(dst []byte) []byte {
	r := rand.New(rand.NewPCG(t.seed, uint64(partition)+2))
	var offset int64
	return func(dst []byte) []byte {
		end := len(dst) + t.bytes
		if m := marker(int32(partition), offset); m != "" {
			dst = append(append(dst, m...), ' ')
		}
		offset++
		for {
			w := t.words[t.pick(r)]
			if len(dst)+len(w) > end {
				break
			}
			dst = append(append(dst, w...), ' ')
		}
		dst = dst[:min(len(dst), end)]
		for len(dst) < end {
			dst = append(dst, ' ')
		}
		return dst
	}
}
