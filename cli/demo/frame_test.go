package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

var someFrame = frame{
	fed:    fed{words: 1_234_567, records: 2000, bytes: 3_000_000},
	glance: glance{top: []wordCount{{"the", 1200}, {"dog", 40}, {"\x1b[2J" + strings.Repeat("long", 20), 3}}, counted: 1_200_000, rows: 3, read: 1900},
	size:   6_000_000, rate: 9123.4, freshness: 250 * time.Millisecond,
}

func TestFrameShowsTheCountAtAGlance(t *testing.T) {
	want := `
Feeding ███████████████░░░░░░░░░░░░░░░ 50 % of 6.0 MB

  WORD                            COUNT
  the                             1,200  ■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■
  dog                             40     ■
  ·[2Jlonglonglonglonglonglongl…  3      -

  fed 1,234,567 words, counted 1,200,000 in 3 rows
  9,123 records/s, lag 100 records, freshness 0.25 s`
	if got := strings.Join(someFrame.lines(24), "\n"); got != want {
		t.Errorf("the frame is\n%s\nwant\n%s", got, want)
	}
	line := "Feeding 50 % of 6.0 MB; fed 1,234,567 words, counted 1,200,000 in 3 rows; 9,123 records/s, lag 100 records, freshness 0.25 s"
	if got := someFrame.line(); got != line {
		t.Errorf("the line is\n%s\nwant\n%s", got, line)
	}
}

func TestFrameFitsALowTerminal(t *testing.T) {
	for height := besides + 1; height < 20; height++ {
		if n := len(someFrame.lines(height)); n >= height {
			t.Errorf("%d lines in a terminal of %d", n, height)
		}
	}
}

func TestScreenDrawsInPlaceAndSaysAbove(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, live: true}
	f := frame{}
	lines := len(f.lines(24))
	s.draw(f)
	first := out.String()
	s.say("news")
	s.draw(f)
	s.draw(f)
	up := "\x1b[" + string(rune('0'+lines)) + "A\x1b[J"
	if want := first + up + "news\n" + first + up + first; out.String() != want {
		t.Errorf("the screen got %q, want %q", out.String(), want)
	}
}

func TestFreshnessIsTheAgeOfTheOldestUncountedWord(t *testing.T) {
	now := time.Now()
	f := &feeder{fed: fed{words: 30}, marks: []mark{{0, now.Add(-30 * time.Second)}, {10, now.Add(-20 * time.Second)}, {20, now.Add(-10 * time.Second)}}}
	for _, c := range []struct {
		counted int64
		want    time.Duration
	}{{5, 30 * time.Second}, {10, 20 * time.Second}, {29, 10 * time.Second}, {30, 0}} {
		_, got := f.progress(c.counted)
		if got = got.Truncate(5 * time.Second); got != c.want {
			t.Errorf("with %d of 30 words counted it is %s, want %s", c.counted, got, c.want)
		}
	}
}

func TestCountingIsSettledWhenAllIsSeenOrNothingMoves(t *testing.T) {
	now := time.Now()
	w := &watcher{moved: now}
	at := func(whole bool, counted, letters int64, after time.Duration) bool {
		f := frame{fed: fed{words: 10, deadLetters: 1, whole: whole}, glance: glance{counted: counted, deadLetters: letters}}
		return w.settled(f, now.Add(after))
	}
	if at(false, 10, 1, time.Hour) || at(true, 9, 1, time.Hour) || at(true, 10, 0, time.Hour+time.Second) {
		t.Error("settled too early")
	}
	if !at(true, 10, 1, time.Hour+2*time.Second) {
		t.Error("not settled with everything counted")
	}
	if at(true, 9, 1, 2*time.Hour) || !at(true, 9, 1, 2*time.Hour+stalled) {
		t.Error("not settled exactly when nothing has moved for a while")
	}
}
