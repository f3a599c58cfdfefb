package demo

import (
	"maps"
	"strings"
	"testing"
)

func TestTruthCountsRunsWithoutSpaces(t *testing.T) {
	got := truthOf("the man and the dog", "  the  dog, The\tapple ", "", "   ", "naïve\r")
	want := map[string]int64{"the": 3, "man": 1, "and": 1, "dog": 1, "dog,": 1, "The\tapple": 1, "naïve\r": 1}
	if counts := plain(got); !maps.Equal(counts, want) {
		t.Errorf("counts are %v, want %v", counts, want)
	}
	if got.words != 9 || got.records != 5 || got.deadLetters != 0 || got.bytes != 19+22+3+7 {
		t.Errorf("sums are %d words, %d records, %d dead letters, %d bytes", got.words, got.records, got.deadLetters, got.bytes)
	}
}

func TestTruthKnowsDeadLetters(t *testing.T) {
	longest := strings.Repeat("x", longestWord)
	got := truthOf("not\xff UTF-8", "a NUL\x00", longest+" ok", longest+"x dead", "ok")
	want := map[string]int64{longest: 1, "ok": 2}
	if counts := plain(got); got.deadLetters != 3 || !maps.Equal(counts, want) {
		t.Errorf("%d dead letters and %d words, want 3 and those of the others", got.deadLetters, len(counts))
	}
}

func truthOf(records ...string) *truth {
	t := newTruth()
	for _, r := range records {
		t.add([]byte(r))
	}
	return t
}

func plain(t *truth) map[string]int64 {
	counts := make(map[string]int64)
	for word, n := range t.counts {
		counts[word] = *n
	}
	return counts
}
