package demo

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// lookEvery is the time between two looks.
	lookEvery = 250 * time.Millisecond
	// rateOver is over how many looks the rate is taken.
	rateOver = 8
	// stalled is how long the counts may stand still, with all of the text fed, before the proof is asked for.
	stalled = 15 * time.Second
)

// watcher looks at the counts, and shows them.
type watcher struct {
	db      *pgx.Conn
	feeder  *feeder
	show    *screen
	earlier int64 // bytes

	looks   []reading
	moved   time.Time
	counted int64
}

// reading is how many records were read at a time.
type reading struct {
	records int64
	at      time.Time
}

// run returns when everything fed is counted, or nothing moves any more.
func (w *watcher) run(ctx context.Context) error {
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	w.moved = time.Now()
	for {
		g, err := look(ctx, w.db)
		if err != nil {
			return err
		}
		f := w.frame(g, time.Now())
		w.show.draw(f)
		if w.settled(f, time.Now()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-every.C:
		}
	}
}

func (w *watcher) frame(g glance, now time.Time) frame {
	fed, freshness := w.feeder.progress(g.counted)
	w.looks = append(w.looks, reading{g.read, now})
	if len(w.looks) > rateOver {
		w.looks = w.looks[1:]
	}
	f := frame{fed: fed, glance: g, earlier: w.earlier, size: w.feeder.text.size(), freshness: freshness}
	if took := now.Sub(w.looks[0].at); took > 0 {
		f.rate = float64(g.read-w.looks[0].records) / took.Seconds()
	}
	return f
}

func (w *watcher) settled(f frame, now time.Time) bool {
	if f.counted != w.counted || !f.whole {
		w.counted, w.moved = f.counted, now
	}
	all := f.whole && f.counted >= f.fed.words && f.glance.deadLetters >= f.fed.deadLetters
	return all || now.Sub(w.moved) >= stalled
}
