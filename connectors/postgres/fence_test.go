package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

// A process frozen between the packets of a pipeline holds its locks, and to Postgres it is active: no
// timeout ends it.
func TestAFenceEndsAHolderFrozenInsideAPipeline(t *testing.T) {
	w := newWorld(t)
	frozen := w.connect()
	statement := `SELECT FROM sr.progress WHERE partition = 0 FOR UPDATE`
	front := frozen.PgConn().Frontend()
	front.SendParse(&pgproto3.Parse{Query: statement})
	front.SendBind(&pgproto3.Bind{})
	front.SendExecute(&pgproto3.Execute{})
	front.Send(&pgproto3.Flush{}) // and no Sync
	check(t, front.Flush())
	w.until(func() bool {
		_, err := w.raw.Exec(t.Context(), `SELECT FROM sr.progress WHERE partition = 0 FOR UPDATE NOWAIT`)
		return err != nil
	})
	w.grace = 0
	check(t, w.Fence(t.Context(), w.a, w.b))
	if row := w.row(0); row.Owner != w.b || row.Epoch != 2 {
		t.Errorf("the row is %+v", row)
	}
	w.until(func() bool {
		var alive bool
		check(t, w.raw.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)`, int32(frozen.PgConn().PID())).Scan(&alive))
		return !alive
	})
}

// While the fence of b waits, a gives an input to b: the input must not stay with the fenced b.
func TestAFenceSeesAnInputBeingGivenToTheContainer(t *testing.T) {
	w := newWorld(t)
	c := w.register("c")
	check(t, w.Plan(t.Context(), bucket(0), w.a, w.b))
	w.exec(w.raw, "BEGIN")
	w.exec(w.raw, giveInput, w.topology, "counts", 0, uuidArg(w.a), 1, uuidArg(w.b))
	fence := later(func() error { return w.Fence(t.Context(), w.b, c) })
	w.untilBlocked(w.raw.PgConn().PID())
	w.exec(w.raw, "COMMIT")
	check(t, <-fence)
	if row := w.row(0); row.Owner != c || row.Epoch != 3 || !row.NextOwner.IsZero() {
		t.Errorf("the row is %+v, want owner %s and epoch 3", row, c)
	}
}

// While the fence of a waits, a opens a writer: that writer must be closed as well.
func TestAFenceSeesAWriterBeingOpened(t *testing.T) {
	w := newWorld(t)
	id := runtime.NewWriterID()
	w.exec(w.raw, "BEGIN")
	w.exec(w.raw, openWriter, w.topology, uuidArg(w.a), uuidArg(id), "words")
	fence := later(func() error { return w.Fence(t.Context(), w.a, w.b) })
	w.untilBlocked(w.raw.PgConn().PID())
	w.exec(w.raw, "COMMIT")
	check(t, <-fence)
	view, err := w.View(t.Context(), []runtime.WriterID{id})
	check(t, err)
	if len(view) != 1 || !view[0].Closed {
		t.Errorf("the writer is %+v, want it closed", view)
	}
}

// A move is being planned to b while b is fenced: whichever is first, b gets nothing.
func TestAFenceSeesAMoveBeingPlannedToTheContainer(t *testing.T) {
	w := newWorld(t)
	w.exec(w.raw, "BEGIN")
	w.exec(w.raw, lockAlive, w.topology, uuidArg(w.b))
	fence := later(func() error { return w.Fence(t.Context(), w.b, w.a) })
	w.untilBlocked(w.raw.PgConn().PID())
	w.exec(w.raw, planMove, w.topology, "counts", 0, uuidArg(w.a), uuidArg(w.b))
	w.exec(w.raw, "COMMIT")
	check(t, <-fence)
	if row := w.row(0); row.Owner != w.a || !row.NextOwner.IsZero() {
		t.Errorf("the row is %+v, want no next owner", row)
	}
}

func TestContainersThatFenceEachOtherLeaveOneAlive(t *testing.T) {
	w := newWorld(t)
	w.grace = fenceGrace
	one := later(func() error { return w.Fence(t.Context(), w.a, w.b) })
	other := w.Fence(t.Context(), w.b, w.a)
	if err := <-one; (err == nil) == (other == nil) || !errors.Is(errors.Join(err, other), protocol.ErrFenced) {
		t.Errorf("one fence answers %v, the other %v", err, other)
	}
	holders, err := w.Holders(t.Context(), runtime.Incarnation{})
	check(t, err)
	if len(holders) != 1 {
		t.Errorf("alive are %+v", holders)
	}
}

func TestAFenceWithoutTheRightToEndSessionsSaysSo(t *testing.T) {
	w := newWorld(t)
	role := w.grantee()
	w.exec(w.raw, "GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA sr TO "+role)
	w.lock(0)
	s := open(t, as(t, w.url, role, "x"), w.table)
	s.grace = 0
	err := s.Fence(t.Context(), w.a, w.b)
	w.exec(w.raw, "ROLLBACK")
	if !errors.Is(err, store.ErrNoPermission) || !strings.Contains(err.Error(), "pg_signal_backend") {
		t.Errorf("got %v, want ErrNoPermission that names pg_signal_backend", err)
	}
}

func (w *world) register(name string) runtime.Incarnation {
	w.t.Helper()
	c := runtime.NewIncarnation()
	check(w.t, w.Register(w.t.Context(), store.Container{Name: name, Incarnation: c}, time.Minute))
	return c
}
