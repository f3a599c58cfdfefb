package demo

import (
	"bytes"
	"unicode/utf8"

	"github.com/selfregulating/sr/runtime/exchange"
)

// longestWord is the most bytes a word may have to be a key: tag and length take three.
const longestWord = exchange.MaxKey - 3

// truth is the demo's own count of the text, made from the bytes alone: words are the longest runs without a space
// (0x20). It shares no code with what it checks.
type truth struct {
	counts map[string]*int64
	// words are those counted, in records and bytes fed; deadLetters the records among them that cannot be counted.
	words, records, bytes, deadLetters int64
}

func newTruth() *truth { return &truth{counts: make(map[string]*int64)} }

func (t *truth) add(record []byte) {
	t.records++
	t.bytes += int64(len(record))
	if !countable(record) {
		t.deadLetters++
		return
	}
	for word := range bytes.SplitSeq(record, []byte{' '}) {
		if len(word) > 0 {
			t.addWord(word)
		}
	}
}

func (t *truth) addWord(word []byte) {
	t.words++
	n := t.counts[string(word)]
	if n == nil {
		n = new(int64)
		t.counts[string(word)] = n
	}
	*n++
}

// countable tells whether a record is text whose every word Postgres can hold as a key; one that is not becomes a dead
// letter as a whole.
func countable(record []byte) bool {
	if !utf8.Valid(record) || bytes.IndexByte(record, 0) >= 0 {
		return false
	}
	for word := range bytes.SplitSeq(record, []byte{' '}) {
		if len(word) > longestWord {
			return false
		}
	}
	return true
}
