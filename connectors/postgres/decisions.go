package postgres

import (
	"bytes"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
)

// assertDecisions asserts what a commit relied on (Receiving 6): the writers it applied have decided
// as much, those whose blocks it dropped are closed below them, or gone. Decisions never change, so
// no row is locked; only a database that went back can fail this.
const assertDecisions = `
SELECT sr.assert_count((
		SELECT count(*) FROM unnest($2::uuid[], $3::bigint[]) AS r(writer, seq)
		JOIN sr.writer w ON w.topology = $1 AND w.writer = r.writer AND w.committed_seq >= r.seq
	), $4, 'decided writers'),
	sr.assert_count((
		SELECT count(*) FROM unnest($5::uuid[], $6::bigint[]) AS d(writer, seq)
		LEFT JOIN sr.writer w ON w.topology = $1 AND w.writer = d.writer
		WHERE w.writer IS NULL OR w.closed AND w.committed_seq < d.seq
	), $7, 'closed writers')`

// writerSeqs are two parameters: ids and seqs.
type writerSeqs struct{ writer, seq array }

func (a *writerSeqs) fill(list []protocol.WriterSeq) {
	a.writer.reset(pgtype.UUIDOID)
	a.seq.reset(pgtype.Int8OID)
	for _, w := range list {
		a.writer.uuid(w.Writer)
		a.seq.int8(int64(w.Seq))
	}
}

type decisionArrays struct{ relied, dropped writerSeqs }

// statement answers false if the commit relied on nothing.
func (a *decisionArrays) statement(topology []byte, moves []protocol.Move) (statement, bool) {
	relied := strongest(moves, func(m *protocol.Move) []protocol.WriterSeq { return m.Relied }, func(a, b runtime.Seq) bool { return a > b })
	dropped := strongest(moves, func(m *protocol.Move) []protocol.WriterSeq { return m.Dropped }, func(a, b runtime.Seq) bool { return a < b })
	if len(relied)+len(dropped) == 0 {
		return statement{}, false
	}
	a.relied.fill(relied)
	a.dropped.fill(dropped)
	return statement{sql: assertDecisions, params: [][]byte{
		topology,
		a.relied.writer.param(), a.relied.seq.param(), int8Param(int64(len(relied))),
		a.dropped.writer.param(), a.dropped.seq.param(), int8Param(int64(len(dropped))),
	}}, true
}

// strongest gathers a list of all moves, each writer once with the seq that says most.
func strongest(moves []protocol.Move, list func(*protocol.Move) []protocol.WriterSeq, more func(a, b runtime.Seq) bool) []protocol.WriterSeq {
	var all []protocol.WriterSeq
	for i := range moves {
		all = append(all, list(&moves[i])...)
	}
	slices.SortFunc(all, func(a, b protocol.WriterSeq) int {
		if c := bytes.Compare(a.Writer[:], b.Writer[:]); c != 0 {
			return c
		}
		if more(a.Seq, b.Seq) {
			return -1
		}
		return 1
	})
	return slices.CompactFunc(all, func(a, b protocol.WriterSeq) bool { return a.Writer == b.Writer })
}

// moveWriter decides the blocks of a batch (Writing 3): it is the last statement of a commit.
const moveWriter = `
WITH u AS (
	UPDATE sr.writer SET committed_seq = $3::bigint
	WHERE topology = $1 AND writer = $2 AND committed_seq = $3::bigint - 1 AND NOT closed
	RETURNING 1
)
SELECT sr.assert_count((SELECT count(*) FROM u), 1, 'writer')`

func writerStatement(topology []byte, w protocol.WriterSeq) statement {
	return statement{sql: moveWriter, params: [][]byte{topology, w.Writer[:], int8Param(int64(w.Seq))}}
}
