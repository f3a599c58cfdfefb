package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/selfregulating/sr/runtime"
)

func sample(t *testing.T, d Distribution, seed uint64, n int) [][]byte {
	t.Helper()
	text, err := NewText(d, 1000, 200, seed)
	if err != nil {
		t.Fatal(err)
	}
	next := text.Source(3)
	list := make([][]byte, n)
	for i := range list {
		list[i] = next(nil)
	}
	return list
}

func TestSentencesHaveTheirSizeAndRepeatWithTheSeed(t *testing.T) {
	for _, d := range []Distribution{Uniform, Zipf} {
		one, two, other := sample(t, d, 1, 300), sample(t, d, 1, 300), sample(t, d, 2, 300)
		if !bytes.Equal(bytes.Join(one, nil), bytes.Join(two, nil)) {
			t.Errorf("%s: the same seed made other sentences", d)
		}
		if bytes.Equal(bytes.Join(one, nil), bytes.Join(other, nil)) {
			t.Errorf("%s: another seed made the same sentences", d)
		}
		for _, s := range one {
			if len(s) != 200 {
				t.Fatalf("%s: a sentence has %d bytes", d, len(s))
			}
		}
	}
}

func TestZipfPrefersTheFirstWords(t *testing.T) {
	counts := map[string]int{}
	for _, s := range sample(t, Zipf, 1, 2000) {
		for _, w := range bytes.Fields(s) {
			counts[string(w)]++
		}
	}
	most, total := 0, 0
	for _, n := range counts {
		most, total = max(most, n), total+n
	}
	// With s = 1.05 the first of 1,000 words has 1/H of all: about 15 %.
	if share := float64(most) / float64(total); share < 0.10 || share > 0.20 {
		t.Errorf("the most frequent word has a share of %.3f", share)
	}
}

func TestEveryLoopCountsTheSame(t *testing.T) {
	plain, inline := newCounter(), newInlineTable(1<<12)
	words := 0
	for _, s := range append(sample(t, Uniform, 1, 500), []byte("  two  spaces "), nil) {
		plain.add(s)
		inline.sentence(s)
		words += len(bytes.Fields(s))
	}
	if plain.words != int64(words) {
		t.Errorf("the plain loop counted %d words of %d", plain.words, words)
	}
	rows := 0
	for _, s := range inline.slots {
		if s.word[15] == 0 {
			continue
		}
		rows++
		word := string(s.word[:s.word[15]])
		if n := plain.counts[word]; n == nil || *n != s.count {
			t.Fatalf("%q: the inline table says %d", word, s.count)
		}
	}
	if rows != len(plain.counts) {
		t.Errorf("%d and %d distinct words", rows, len(plain.counts))
	}
}

func TestMarkersStandWhereTheWatchExpectsThem(t *testing.T) {
	list := sample(t, Uniform, 1, 2*markerEvery)
	for offset, s := range list {
		want := marker(3, int64(offset))
		got := ""
		if first, _, _ := strings.Cut(string(s), " "); strings.HasPrefix(first, "~") {
			got = first
		}
		if got != want {
			t.Fatalf("the record at offset %d begins with %q, want %q", offset, got, want)
		}
	}
}

func TestMarkersWaitFromTheReadingBefore(t *testing.T) {
	w := &watch{buckets: 64, next: map[int32]int64{}, waiting: map[string]waiting{}}
	before := reading{at: time.Unix(10, 0)}
	w.consumed(before, reading{at: time.Unix(11, 0), positions: map[int32]int64{0: markerEvery, 1: markerEvery - 1}})
	if len(w.waiting) != 1 {
		t.Fatalf("%d markers wait, want the one of partition 0", len(w.waiting))
	}
	if m := w.waiting[marker(0, markerEvery-1)]; !m.since.Equal(before.at) || m.bucket < 0 || m.bucket >= runtime.Bucket(64) {
		t.Errorf("the marker waits since %v in bucket %d", m.since, m.bucket)
	}
	w.consumed(before, reading{at: time.Unix(12, 0), positions: map[int32]int64{0: markerEvery, 1: markerEvery}})
	if len(w.waiting) != 2 {
		t.Errorf("%d markers wait, want 2", len(w.waiting))
	}
}

func TestQuantiles(t *testing.T) {
	list := []float64{4, 1, 3, 2}
	for q, want := range map[float64]float64{0: 1, 0.5: 3, 1: 4} {
		if got := quantile(list, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("the quantile of nothing is not 0")
	}
}

func TestConfigurationsThatCannotBeMeasured(t *testing.T) {
	for _, c := range []Config{{}, {Program: "sr", Dir: ".", Records: 5}, {Program: "sr", Dir: ".", Buckets: -1}} {
		if err := c.defaults(); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}
