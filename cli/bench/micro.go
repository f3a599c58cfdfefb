package bench

import (
	"bytes"
	"fmt"
	"math/bits"
	"strings"
	"time"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/selfregulating/sr/runtime/exchange"
)

// Micro is the cost of splitting and counting alone, in nanoseconds a word, measured in turns.
type Micro struct {
	// Map is the plain loops' own: IndexByte and map[string]*int64.
	Map float64 `json:"map_ns_per_word"`
	// Inline is the best plain loop: an open-addressing table with keys of up to 15 bytes in the slot.
	Inline float64 `json:"inline_table_ns_per_word"`
	// Table is sr's combiner.
	Table float64 `json:"sr_table_ns_per_word"`
	// TableOverBest is Table over the better of the others.
	TableOverBest float64 `json:"sr_table_over_best"`
}

const microSentences = 65_000

// micro measures the three on the same sentences, round by round, and takes the median round of each.
func micro(t *Text, buckets int) (Micro, error) {
	next := t.Source(0)
	sentences := make([][]byte, microSentences)
	for i := range sentences {
		sentences[i] = next(nil)
	}
	shape, err := exchange.NewShape(exchange.Layout{exchange.AddInt}, true)
	if err != nil {
		return Micro{}, fmt.Errorf("laying out a count: %w", err)
	}
	table := exchange.NewTable(shape, buckets)
	plain, inline := newCounter(), newInlineTable(1<<20)
	loops := []func([]byte){
		plain.add,
		inline.sentence,
		func(s []byte) {
			eachWord(s, func(w string) { table.AddText(w, 1) })
			if err := table.CommitRecord(); err != nil {
				panic("bench: counting a word of at most 12 letters: " + err.Error())
			}
		},
	}
	for _, l := range loops {
		for _, s := range sentences {
			l(s)
		}
	}
	times := make([][]float64, len(loops))
	const round = 5_000
	for from := 0; from+round <= len(sentences); from += round {
		words := 0
		for _, s := range sentences[from : from+round] {
			words += len(bytes.Fields(s))
		}
		for i, l := range loops {
			start := time.Now()
			for _, s := range sentences[from : from+round] {
				l(s)
			}
			times[i] = append(times[i], float64(time.Since(start).Nanoseconds())/float64(words))
		}
	}
	m := Micro{Map: quantile(times[0], 0.5), Inline: quantile(times[1], 0.5), Table: quantile(times[2], 0.5)}
	m.TableOverBest = m.Table / min(m.Map, m.Inline)
	return m, nil
}

// eachWord cuts a sentence at spaces; the words are views.
func eachWord(sentence []byte, f func(string)) {
	s := unsafe.String(unsafe.SliceData(sentence), len(sentence))
	for len(s) > 0 {
		i := strings.IndexByte(s, ' ')
		switch {
		case i < 0:
			f(s)
			return
		case i > 0:
			f(s[:i])
		}
		s = s[i+1:]
	}
}

// inlineTable counts words of up to 15 bytes, which stand in its slots.
type inlineTable struct {
	slots []inlineSlot
	shift int
}

type inlineSlot struct {
	word  [16]byte // the last byte is the length
	count int64
}

func newInlineTable(size int) *inlineTable {
	return &inlineTable{make([]inlineSlot, size), 64 - bits.Len(uint(size-1))}
}

func (t *inlineTable) sentence(s []byte) { eachWord(s, t.add) }

func (t *inlineTable) add(word string) {
	var key [16]byte
	copy(key[:15], word)
	key[15] = byte(len(word))
	mask := len(t.slots) - 1
	for i := int(xxh3.HashString(word) >> t.shift); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.word == key {
			s.count++
			return
		}
		if s.word[15] == 0 {
			s.word, s.count = key, 1
			return
		}
	}
}
