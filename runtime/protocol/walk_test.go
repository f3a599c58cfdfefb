package protocol

import (
	"fmt"
	"math/rand/v2"
)

// stroll is what some random walks saw.
type stroll struct {
	walks, steps, quiet, cut int
}

// walk takes random steps, faults among them, then cooperative ones until everything is counted.
// The pair (seed, number) makes a walk again.
func (t *stroll) walk(s setup, seed, number uint64) *finding {
	const most = 600
	rng := rand.New(rand.NewPCG(seed, number))
	x := &explorer{setup: s}
	w := x.initial()
	var trace []string
	patience := rng.IntN(60) // adverse steps end after so many
	cut := false
	t.walks++
	for k := range most {
		next := x.choose(w, rng, k <= patience)
		cut = cut || x.cut
		if (k > patience || next.world == nil) && x.quiescent(w) {
			t.quiet++
			return nil
		}
		if next.world == nil {
			break
		}
		t.steps++
		trace = append(trace, fmt.Sprintf("%3d %s", k+1, next.words()))
		if next.violation != "" {
			return &finding{next.violation, trace}
		}
		w = next.world
	}
	if cut {
		t.cut++
		return nil
	}
	return &finding{"progress: the walk did not end in quiescence", trace}
}

// choice is a step that a walk may take.
type choice struct {
	world     *world
	violation string
	format    string
	a         []any
}

func (c *choice) words() string { return fmt.Sprintf(c.format, c.a...) }

// choose takes one of the next steps, each with the same chance.
func (x *explorer) choose(w *world, rng *rand.Rand, adverse bool) (taken choice) {
	var format string
	var args []any
	n := 0
	x.say = func(f string, a ...any) { format, args = f, a }
	x.emit = func(next *world, bad bool, violation string) {
		if bad && !adverse && violation == "" {
			return
		}
		if n++; rng.IntN(n) == 0 {
			taken = choice{next, violation, format, args}
		}
	}
	x.successors(w)
	return taken
}
