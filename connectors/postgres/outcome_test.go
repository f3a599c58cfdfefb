package postgres

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/selfregulating/sr/connectors/postgres/pgtest"
	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

// A check that the client makes on the answers of a pipeline comes after its COMMIT.
func TestAFencedCommitWritesNothingThoughItIsSentWhole(t *testing.T) {
	w := newWorld(t)
	check(t, w.commit(t.Context(), 1))
	check(t, w.Fence(t.Context(), w.a, w.b))
	if err := w.commit(t.Context(), 2); !errors.Is(err, protocol.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	w.expectCommitted(1)
}

// The fence is waiting for the row when the commit gets it, or the other way round: never both.
func TestACommitThatWaitedForAFenceIsLost(t *testing.T) {
	w := newWorld(t)
	w.exec(w.raw, "BEGIN")
	w.exec(w.raw, strings.ReplaceAll(takeInputs, "$3::uuid", "NULL"), w.topology, uuidArg(w.a))
	late := later(func() error { return w.commit(t.Context(), 1) })
	w.untilBlocked(w.raw.PgConn().PID())
	w.exec(w.raw, "COMMIT")
	if err := <-late; !errors.Is(err, protocol.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	w.expectCommitted(0)
}

func TestACommitWhoseSessionIsEndedIsUnknown(t *testing.T) {
	w := newWorld(t)
	w.lock(0)
	commit := later(func() error { return w.commit(t.Context(), 1) })
	pid := w.untilBlocked(w.raw.PgConn().PID())
	w.exec(w.raw, "SELECT pg_terminate_backend($1)", int32(pid))
	if err := <-commit; !errors.Is(err, protocol.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
	w.exec(w.raw, "ROLLBACK")
	w.expectCommitted(0)
	check(t, w.commit(t.Context(), 1))
}

// The connection is cut while the commit waits for a lock: the client is told ErrUnknown, and the commit
// does happen later.
func TestALateCommitHappensAfterTheConnectionIsCut(t *testing.T) {
	p, way := newProxy(t)
	w := newWorldAt(t, pgtest.URL(t), way)
	w.lock(0)
	commit := later(func() error { return w.commit(t.Context(), 1) })
	w.untilBlocked(w.raw.PgConn().PID())
	p.cut()
	if err := <-commit; !errors.Is(err, protocol.ErrUnknown) {
		t.Errorf("got %v, want ErrUnknown", err)
	}
	w.expectCommitted(0)
	w.exec(w.raw, "ROLLBACK")
	p.sessions.Wait()
	w.expectCommitted(1)
}

// What resolves ErrUnknown also stops a commit whose bytes are still under way (Writing 5).
func TestALateCommitIsVoidOnceTheEpochIsRaisedOrTheWriterClosed(t *testing.T) {
	for name, resolve := range map[string]func(w *world, s *Store) error{
		"nothing": func(*world, *Store) error { return nil },
		"raised":  func(w *world, s *Store) error { return s.RaiseEpochs(t.Context(), w.a, []runtime.Input{bucket(0)}) },
		"closed":  func(w *world, s *Store) error { return s.CloseWriter(t.Context(), w.writer) },
	} {
		t.Run(name, func(t *testing.T) {
			p, way := newProxy(t)
			w := newWorldAt(t, pgtest.URL(t), way)
			check(t, w.commit(t.Context(), 1)) // prepares the statements
			p.set(true)
			commit := later(func() error { return w.commit(t.Context(), 2) })
			w.until(p.keeps)
			p.cut()
			if err := <-commit; !errors.Is(err, protocol.ErrUnknown) {
				t.Fatalf("got %v, want ErrUnknown", err)
			}
			check(t, resolve(w, open(t, w.url, w.table)))
			p.set(false)
			p.sessions.Wait()
			if name == "nothing" { // it was under way indeed
				w.expectCommitted(2)
			} else {
				w.expectCommitted(1)
			}
		})
	}
}

func TestADeadlockIsTriedAgainWithTheSameBatch(t *testing.T) {
	w := newWorld(t)
	w.exec(w.raw, "SET deadlock_timeout = '1h'") // the victim is the commit
	w.lock(1)
	both := later(func() error {
		_, err := w.Commit(t.Context(), protocol.Commit{Container: w.a, Moves: []protocol.Move{
			{Input: bucket(0), Epoch: 1, TxID: 1}, {Input: bucket(1), Epoch: 1, TxID: 1},
		}}, store.Writes{})
		return err
	})
	w.untilBlocked(w.raw.PgConn().PID())
	w.exec(w.raw, "SELECT FROM sr.progress WHERE partition = 0 FOR UPDATE")
	w.exec(w.raw, "ROLLBACK")
	check(t, <-both)
	if w.row(0).TxID != 1 || w.row(1).TxID != 1 {
		t.Errorf("the txids are %d and %d", w.row(0).TxID, w.row(1).TxID)
	}
}

func TestOutcomesByWhatTheServerSaid(t *testing.T) {
	s := &Store{address: "db:5432/app", role: "sr"}
	data := &subject{operator: "counts", bucket: 3}
	pg := func(code string) error { return &pgconn.PgError{Code: code, Severity: "ERROR", Message: "said so"} }
	for name, c := range map[string]struct {
		err, want error
	}{
		"assertion":            {pg("SR001"), protocol.ErrLost},
		"deadlock":             {pg("40P01"), errAgain},
		"serialization":        {pg("40001"), errAgain},
		"cancelled":            {pg("57014"), errAgain},
		"shutdown":             {&pgconn.PgError{Code: "57P01", Severity: "FATAL"}, protocol.ErrUnknown},
		"crash of another":     {&pgconn.PgError{Code: "57P02", Severity: "WARNING"}, protocol.ErrUnknown},
		"end of connection":    {io.ErrUnexpectedEOF, protocol.ErrUnknown},
		"given up by the user": {context.Canceled, protocol.ErrUnknown},
		"disk full":            {pg("53100"), store.ErrFull},
		"grant missing":        {pg("42501"), store.ErrNoPermission},
	} {
		if got := s.outcome(c.err, data); !errors.Is(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	var refused *store.DataError
	if err := s.outcome(pg("22003"), data); !errors.As(err, &refused) || refused.Bucket != 3 || refused.Code != "22003" {
		t.Errorf("overflow in a fold: got %v", err)
	}
	if err := s.outcome(pg("22003"), nil); errors.As(err, &refused) {
		t.Errorf("an overflow outside a fold is said to be of data: %v", err)
	}
}

func TestAMissingGrantIsNamed(t *testing.T) {
	w := newWorld(t)
	role := w.grantee()
	w.exec(w.raw, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sr TO "+role)
	w.Store = open(t, as(t, w.url, role, "x"), w.table)
	err := w.commit(t.Context(), 1)
	if !errors.Is(err, store.ErrNoPermission) || !strings.Contains(err.Error(), "test__counts") || !strings.Contains(err.Error(), role) {
		t.Errorf("got %v, want ErrNoPermission that names the table and the role", err)
	}
}
