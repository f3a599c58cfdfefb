package protocol

import (
	"fmt"
	"strings"
)

// search explores breadth first, so that the first counterexample is a shortest one.
type search struct {
	setup
	ids    map[uint64]int32
	parent []int32
	step   []uint16 // which successor of the parent a state is
	good   []bool   // quiescent, or cut by a bound: a good end
	from   []int32  // cooperative edges
	to     []int32
	edges  int
	cut    int
	quiet  int
	shared shared
}

// shared keeps one copy of each part of the worlds, by its sum.
type shared struct {
	stores map[uint64]*store
	procs  map[uint64]*process
}

func (s *shared) intern(w *world) {
	w.pg = keep(s.stores, w.pg.sum, w.pg)
	for i, p := range w.proc {
		if p != nil {
			w.proc[i] = keep(s.procs, p.sum, p)
		}
	}
}

func keep[T any](m map[uint64]*T, sum uint64, v *T) *T {
	if old, ok := m[sum]; ok {
		return old
	}
	m[sum] = v
	return v
}

// finding is a violated property and the steps that lead there, in words.
type finding struct {
	property string
	trace    []string
}

func (f *finding) String() string {
	return "VIOLATION " + f.property + "\n" + strings.Join(f.trace, "\n")
}

// explore visits every state, up to limit of them. full tells whether all were visited; only then
// progress was checked too.
func explore(s setup, limit int) (r *search, found *finding, full bool) {
	r = &search{setup: s, ids: map[uint64]int32{}, shared: shared{map[uint64]*store{}, map[uint64]*process{}}}
	x := &explorer{setup: s}
	level := []*world{x.initial()}
	r.add(level[0], -1, 0)
	for first := int32(0); len(level) > 0; {
		var next []*world
		for i, w := range level {
			id := first + int32(i)
			if bad, step := r.expand(x, w, id, &next); bad != "" {
				return r, &finding{bad, r.trace(id, step)}, false
			}
			level[i] = nil
		}
		if len(r.parent) > limit {
			return r, nil, false
		}
		first += int32(len(level))
		level = next
	}
	if stuck := r.stuck(); stuck >= 0 {
		return r, &finding{"progress: no cooperative steps lead from here to quiescence", r.trace(stuck)}, true
	}
	return r, nil, true
}

func (r *search) expand(x *explorer, w *world, id int32, next *[]*world) (bad string, badStep uint16) {
	step := uint16(0)
	x.emit = func(n *world, adverse bool, violation string) {
		r.edges++
		to, fresh := r.add(n, id, step)
		if fresh {
			r.shared.intern(n)
			*next = append(*next, n)
		}
		if !adverse && to != id {
			r.from, r.to = append(r.from, id), append(r.to, to)
		}
		if violation != "" && bad == "" {
			bad, badStep = violation, step
		}
		step++
	}
	x.successors(w)
	if x.cut {
		r.cut++
		r.good[id] = true
	}
	return bad, badStep
}

func (r *search) add(w *world, parent int32, step uint16) (int32, bool) {
	k := w.key()
	if id, ok := r.ids[k]; ok {
		return id, false
	}
	id := int32(len(r.parent))
	r.ids[k] = id
	r.parent, r.step = append(r.parent, parent), append(r.step, step)
	quiet := (&explorer{setup: r.setup}).quiescent(w)
	r.good = append(r.good, quiet)
	if quiet {
		r.quiet++
	}
	return id, true
}

// stuck returns the first state from which cooperative steps reach no good end, or -1.
func (r *search) stuck() int32 {
	n := len(r.parent)
	start := make([]int32, n+1)
	for _, t := range r.to {
		start[t+1]++
	}
	for i := range n {
		start[i+1] += start[i]
	}
	back := make([]int32, len(r.to))
	fill := append([]int32(nil), start[:n]...)
	for k, t := range r.to {
		back[fill[t]] = r.from[k]
		fill[t]++
	}
	var todo []int32
	for i, g := range r.good {
		if g {
			todo = append(todo, int32(i))
		}
	}
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, f := range back[start[t]:start[t+1]] {
			if !r.good[f] {
				r.good[f] = true
				todo = append(todo, f)
			}
		}
	}
	for i, g := range r.good {
		if !g {
			return int32(i)
		}
	}
	return -1
}

// trace replays the way to a state, and then the given steps, and tells it in words.
func (r *search) trace(id int32, more ...uint16) (lines []string) {
	way := more
	for ; r.parent[id] >= 0; id = r.parent[id] {
		way = append(way, r.step[id])
	}
	x := &explorer{setup: r.setup}
	w := x.initial()
	for k := len(way) - 1; k >= 0; k-- {
		var label string
		w, label = x.nth(w, way[k])
		lines = append(lines, fmt.Sprintf("%3d %s", len(lines)+1, label))
	}
	return lines
}

// nth takes the given successor of w.
func (x *explorer) nth(w *world, step uint16) (found *world, label string) {
	words, at := "", uint16(0)
	x.say = func(format string, a ...any) { words = fmt.Sprintf(format, a...) }
	x.emit = func(n *world, _ bool, _ string) {
		if at == step {
			found, label = n, words
		}
		at++
	}
	x.successors(w)
	return found, label
}
