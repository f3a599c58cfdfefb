package prose

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"unicode/utf8"
)

// text is at least n bytes of sentences, a line each.
func text(seed uint64, n int) []byte {
	g := New(seed)
	var all []byte
	for len(all) < n {
		all = append(g.Next(all), '\n')
	}
	return all
}

func TestASeedIsOneTextForEver(t *testing.T) {
	const want = "106b240807704eec64f4d73dba3fd8cd89d9168e997a6fb445aad4bf0eb5270d"
	if sum := sha256.Sum256(text(1, 1<<20)); hex.EncodeToString(sum[:]) != want {
		t.Errorf("the text of seed 1 has the hash %x, want %s; it opens with:\n%s", sum, want, text(1, 500))
	}
	if bytes.Equal(text(1, 10_000), text(2, 10_000)) {
		t.Error("two seeds give one text")
	}
}

func TestTextIsCleanLinesOfWords(t *testing.T) {
	for line := range bytes.Lines(text(3, 1<<20)) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		clean := utf8.Valid(line) && !bytes.ContainsAny(line, "\x00\t\r\n") &&
			!bytes.Contains(line, []byte("  ")) && bytes.Equal(line, bytes.TrimSpace(line))
		if !clean || len(line) < 8 || len(line) > 400 {
			t.Fatalf("not a sentence: %q", line)
		}
	}
}

func TestFiveMegabytesHoldManyWords(t *testing.T) {
	counts := map[string]int{}
	for word := range bytes.FieldsSeq(text(1, 5_000_000)) {
		counts[string(word)]++
	}
	if len(counts) < 5000 {
		t.Errorf("%d different words, want at least 5000", len(counts))
	}
	if counts["the"] < 10*counts["river"] || counts["river"] < 10*counts["spyglass"] || counts["spyglass"] == 0 {
		t.Errorf("the: %d, river: %d, spyglass: %d; want few frequent words and many rare ones",
			counts["the"], counts["river"], counts["spyglass"])
	}
}
