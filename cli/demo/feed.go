package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fed is how much of the text is in the topic, or on its way there.
type fed struct {
	words, records, bytes, deadLetters int64
	whole                              bool // all is in
}

// feeder puts text into the topic, at its rate, and counts it as it goes by.
type feeder struct {
	cl   *kgo.Client
	text text
	rate float64 // bytes a second; 0 is no bound
	// truth belongs to run until that has returned.
	truth *truth

	mu  sync.Mutex
	fed fed
	// marks tell when the text was so many words long, the oldest first.
	marks []mark
}

type mark struct {
	words int64
	at    time.Time
}

// markEvery bounds how many marks there are, and with that how fine freshness is told.
const markEvery = 10 * time.Millisecond

// run feeds all of the text, and returns when the broker has acknowledged it.
func (f *feeder) run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	start, before := time.Now(), f.truth.bytes
	for {
		record, err := f.text.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = f.pace(ctx, start, f.truth.bytes-before)
		}
		if err != nil {
			return err
		}
		f.truth.add(record)
		f.note()
		f.cl.Produce(ctx, &kgo.Record{Topic: topic, Value: append([]byte{}, record...)}, func(_ *kgo.Record, err error) {
			if err != nil {
				fail(fmt.Errorf("feeding: %w", err))
			}
		})
	}
	_ = f.cl.Flush(ctx) // what goes wrong comes through fail, too
	if err := context.Cause(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fed.whole = true
	return nil
}

// pace waits until so many bytes are due.
func (f *feeder) pace(ctx context.Context, start time.Time, bytes int64) error {
	if f.rate > 0 {
		early := time.Duration(float64(bytes)/f.rate*float64(time.Second)) - time.Since(start)
		if early > markEvery {
			select {
			case <-ctx.Done():
			case <-time.After(early):
			}
		}
	}
	return context.Cause(ctx)
}

// note tells progress how far the truth is.
func (f *feeder) note() {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fed.words, f.fed.records, f.fed.bytes, f.fed.deadLetters = f.truth.words, f.truth.records, f.truth.bytes, f.truth.deadLetters
	if n := len(f.marks); n == 0 || now.Sub(f.marks[n-1].at) >= markEvery {
		f.marks = append(f.marks, mark{f.fed.words, now})
	}
}

// progress answers how much is fed, and for how long the oldest word that is not among the counted ones has been.
func (f *feeder) progress(counted int64) (fed, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.marks) > 1 && f.marks[1].words <= counted {
		f.marks = f.marks[1:]
	}
	if counted >= f.fed.words || len(f.marks) == 0 {
		return f.fed, 0
	}
	return f.fed, time.Since(f.marks[0].at)
}
