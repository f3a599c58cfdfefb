package postgres

import (
	"cmp"
	"slices"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// build makes the statements in the order of the locks: progress, state, writer.
func (s *Store) build(b *commitScratch, c *protocol.Commit, w *store.Writes) ([]statement, error) {
	var list []statement
	if len(c.Moves) > 0 {
		list = append(list, b.moves.statement(s.topologyParam, c))
		if decisions, needed := b.decisions.statement(s.topologyParam, c.Moves); needed {
			list = append(list, decisions)
		}
		if readsSource(c.Moves) {
			list = append(list, b.moves.descriptorStatement(s.topologyParam))
		}
	}
	b.used = 0
	list, err := s.foldStatements(list, b, w.Folds)
	if err != nil {
		return nil, err
	}
	if list, err = s.writeStatements(list, b, w.Rows); err != nil {
		return nil, err
	}
	if len(w.DeadLetters) > 0 {
		list = append(list, lettersStatement(s.topologyParam, w.DeadLetters))
	}
	if !c.Writer.Writer.IsZero() {
		list = append(list, writerStatement(s.topologyParam, c.Writer))
	}
	return list, nil
}

// commitScratch is the memory of a commit's parameters, kept for the next one.
type commitScratch struct {
	moves     moveArrays
	decisions decisionArrays
	rows      []*rowArrays
	used      int
}

// next returns arrays for one more statement over l.
func (b *commitScratch) next(l *layout) *rowArrays {
	if b.used == len(b.rows) {
		b.rows = append(b.rows, &rowArrays{})
	}
	a := b.rows[b.used]
	b.used++
	a.reset(l)
	return a
}

// foldStatements makes one statement of all folds of a table: it costs no more with many buckets than
// with one, and a statement as much as some twenty rows.
func (s *Store) foldStatements(list []statement, b *commitScratch, folds []store.Fold) ([]statement, error) {
	folds = slices.DeleteFunc(slices.Clone(folds), func(f store.Fold) bool { return f.Partials.Len() == 0 })
	slices.SortStableFunc(folds, func(x, y store.Fold) int { return compareParts(x.Table, y.Table, x.Bucket, y.Bucket) })
	for len(folds) > 0 {
		t, err := s.table(folds[0].Table)
		if err != nil {
			return nil, err
		}
		about := &subject{runtime.OperatorID(t.def.Operator), folds[0].Bucket}
		a := b.next(&t.layout)
		for ; len(folds) > 0 && folds[0].Table.Operator == t.def.Operator; folds = folds[1:] {
			about.include(folds[0].Bucket)
			if err := a.addFold(&t.layout, &folds[0]); err != nil {
				return nil, err
			}
		}
		list = append(list, statement{sql: t.fold, params: a.params(&t.layout, false), data: about})
	}
	return list, nil
}

// writeStatements makes one statement of all row writes of a table.
func (s *Store) writeStatements(list []statement, b *commitScratch, writes []store.RowWrite) ([]statement, error) {
	writes = slices.DeleteFunc(slices.Clone(writes), func(w store.RowWrite) bool { return len(w.Keys) == 0 })
	slices.SortStableFunc(writes, func(x, y store.RowWrite) int { return compareParts(x.Table, y.Table, x.Bucket, y.Bucket) })
	for len(writes) > 0 {
		t, err := s.table(writes[0].Table)
		if err != nil {
			return nil, err
		}
		about := &subject{runtime.OperatorID(t.def.Operator), writes[0].Bucket}
		a := b.next(&t.layout)
		for ; len(writes) > 0 && writes[0].Table.Operator == t.def.Operator; writes = writes[1:] {
			about.include(writes[0].Bucket)
			if err := a.addRows(&t.layout, &writes[0], 0, len(writes[0].Keys)); err != nil {
				return nil, err
			}
		}
		list = append(list, statement{sql: t.write, params: a.params(&t.layout, true), data: about})
	}
	return list, nil
}

func compareParts(s, t *state.Table, b, c runtime.Bucket) int {
	return cmp.Or(cmp.Compare(s.Operator, t.Operator), cmp.Compare(b, c))
}

// subject names the operator and bucket that a fold or write is about; bucket -1 stands for several.
type subject struct {
	operator runtime.OperatorID
	bucket   runtime.Bucket
}

func (s *subject) include(b runtime.Bucket) {
	if b != s.bucket {
		s.bucket = -1
	}
}
