package protocol

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/mutant"
)

// ContainerRow is the row of one life of a container.
type ContainerRow struct {
	Incarnation runtime.Incarnation
	Fenced      bool
}

// Rows is the store's side of the protocol in memory: each method is one transaction. It has no
// lock of its own. Slices are ordered by key, so that equal contents are equal values.
type Rows struct {
	Containers  []ContainerRow
	Writers     []WriterRow
	Progress    []Progress
	Descriptors []Descriptor
}

// Register inserts the row of a new container incarnation.
func (t *Rows) Register(c runtime.Incarnation) {
	i, ok := slices.BinarySearchFunc(t.Containers, c, func(r ContainerRow, c runtime.Incarnation) int { return slices.Compare(r.Incarnation[:], c[:]) })
	if !ok {
		t.Containers = slices.Insert(t.Containers, i, ContainerRow{Incarnation: c})
	}
}

func (t *Rows) container(c runtime.Incarnation) *ContainerRow {
	for i := range t.Containers {
		if t.Containers[i].Incarnation == c {
			return &t.Containers[i]
		}
	}
	return nil
}

func (t *Rows) alive(c runtime.Incarnation) bool {
	r := t.container(c)
	return r != nil && !r.Fenced
}

// AddInput inserts the progress row of a new input; an existing one stays as it is.
func (t *Rows) AddInput(p Progress) {
	if i, ok := t.find(p.Input); !ok {
		t.Progress = slices.Insert(t.Progress, i, p)
	}
}

func (t *Rows) find(in runtime.Input) (int, bool) {
	return slices.BinarySearchFunc(t.Progress, in, func(p Progress, in runtime.Input) int { return p.Input.Compare(in) })
}

// Row returns the row of an input, nil if there is none.
func (t *Rows) Row(in runtime.Input) *Progress {
	if i, ok := t.find(in); ok {
		return &t.Progress[i]
	}
	return nil
}

func (t *Rows) writer(id runtime.WriterID) *WriterRow {
	for i := range t.Writers {
		if t.Writers[i].Writer == id {
			return &t.Writers[i]
		}
	}
	return nil
}

// OpenWriter inserts a writer under its unfenced container (Writing 1).
func (t *Rows) OpenWriter(c runtime.Incarnation, stage string, id runtime.WriterID) error {
	if !t.alive(c) && !mutant.On("openByFenced") {
		return ErrFenced
	}
	i, _ := slices.BinarySearchFunc(t.Writers, id, func(r WriterRow, id runtime.WriterID) int { return slices.Compare(r.Writer[:], id[:]) })
	t.Writers = slices.Insert(t.Writers, i, WriterRow{Writer: id, Stage: stage, Container: c})
	return nil
}

// CloseWriter closes a writer; one that is closed or gone stays so.
func (t *Rows) CloseWriter(id runtime.WriterID) {
	if w := t.writer(id); w != nil {
		w.Closed = true
	}
}

// CloseStray closes every writer of the container that is not in use (▲ Writing 6).
func (t *Rows) CloseStray(c runtime.Incarnation, inUse []runtime.WriterID) {
	for i := range t.Writers {
		if w := &t.Writers[i]; w.Container == c && !slices.Contains(inUse, w.Writer) {
			w.Closed = true
		}
	}
}

// View returns one snapshot of all writers.
func (t *Rows) View() View {
	var v View
	for _, w := range t.Writers {
		v = append(v, WriterState{w.Writer, w.Committed, w.Closed})
	}
	return v
}

// Commit is the one transaction of a batch (Writing 3, Receiving 6): everything or ErrLost.
func (t *Rows) Commit(c Commit) (Result, error) {
	var res Result
	for _, m := range c.Moves {
		if err := t.assertMove(c.Container, m); err != nil {
			return res, err
		}
	}
	var w *WriterRow
	if !c.Writer.Writer.IsZero() {
		w = t.writer(c.Writer.Writer)
		if w == nil || w.Closed && !mutant.On("noClosedAssert") || w.Committed != c.Writer.Seq-1 && !mutant.On("noSeqAssert") {
			return res, fmt.Errorf("writer %s: %w", c.Writer.Writer, ErrLost)
		}
		w.Committed = c.Writer.Seq
	}
	for _, m := range c.Moves {
		t.move(m, &res)
	}
	return res, nil
}

func (t *Rows) assertMove(owner runtime.Incarnation, m Move) error {
	row := t.Row(m.Input)
	if row == nil || row.Owner != owner && !mutant.On("noOwnerAssert") || row.Epoch != m.Epoch && !mutant.On("noEpochAssert") ||
		row.TxID != m.TxID-1 && !mutant.On("noTxIDAssert") {
		return fmt.Errorf("progress of %s: %w", m.Input, ErrLost)
	}
	if !m.GiveTo.IsZero() && row.NextOwner != m.GiveTo && !mutant.On("giveNoAssert") { // ▲ Moving 3
		return fmt.Errorf("next owner of %s: %w", m.Input, ErrLost)
	}
	for _, r := range m.Relied { // ▲ Receiving 6
		if w := t.writer(r.Writer); (w == nil || w.Committed < r.Seq) && !mutant.On("noDecisionAssert") {
			return fmt.Errorf("decision of writer %s: %w", r.Writer, ErrLost)
		}
	}
	for _, d := range m.Dropped {
		if w := t.writer(d.Writer); w != nil && (!w.Closed || w.Committed >= d.Seq) && !mutant.On("noDropAssert") {
			return fmt.Errorf("close of writer %s: %w", d.Writer, ErrLost)
		}
	}
	return nil
}

func (t *Rows) move(m Move, res *Result) {
	row := t.Row(m.Input)
	row.TxID, row.Position = m.TxID, m.Position
	row.TopicID, row.LeaderEpoch, row.Watermark, row.Idle = m.TopicID, m.LeaderEpoch, m.Watermark, m.Idle
	if m.Applied != nil {
		row.Applied = nil
		for _, a := range m.Applied { // ▲ Receiving 7: pruned in the transaction, from the table itself
			if w := t.writer(a.Writer); w != nil && !(mutant.On("pruneEarly") && w.CloseOffsets != nil) {
				row.Applied = append(row.Applied, a)
			} else if !slices.Contains(res.Gone, a.Writer) {
				res.Gone = append(res.Gone, a.Writer)
			}
		}
	}
	t.Descriptors = slices.DeleteFunc(t.Descriptors, func(d Descriptor) bool { return d.Input == m.Input && d.TxID <= m.TxID })
	if !m.GiveTo.IsZero() {
		give(row, m.GiveTo)
	}
}

func give(row *Progress, to runtime.Incarnation) {
	row.Owner, row.NextOwner, row.NextReady = to, runtime.Incarnation{}, false
	row.Epoch++
}

// Describe inserts descriptors of batches about to be produced, the ownership asserted.
func (t *Rows) Describe(owner runtime.Incarnation, epochs []runtime.Epoch, ds []Descriptor) error {
	for i, d := range ds {
		row := t.Row(d.Input)
		if row == nil || row.Owner != owner || row.Epoch != epochs[i] {
			return fmt.Errorf("describing a batch of %s: %w", d.Input, ErrLost)
		}
	}
	for _, d := range ds {
		t.Descriptors = slices.DeleteFunc(t.Descriptors, func(o Descriptor) bool { return o.Input == d.Input && o.TxID == d.TxID })
		t.Descriptors = append(t.Descriptors, d)
	}
	slices.SortFunc(t.Descriptors, func(a, b Descriptor) int {
		return cmp.Or(a.Input.Compare(b.Input), cmp.Compare(a.TxID, b.TxID))
	})
	return nil
}

// RaiseEpochs fences the container's own late commits of these inputs (Writing 5).
func (t *Rows) RaiseEpochs(owner runtime.Incarnation, ins []runtime.Input) {
	for _, in := range ins {
		if row := t.Row(in); row != nil && row.Owner == owner {
			row.Epoch++
		}
	}
}

// Assign gives an input to a living container if nobody owns it, or only a container that can own
// nothing any more (▲ Fencing).
func (t *Rows) Assign(in runtime.Input, to runtime.Incarnation) error {
	if !t.alive(to) && !mutant.On("assignToFenced") { // ▲ Moving 1
		return ErrFenced
	}
	if row := t.Row(in); row != nil && !t.alive(row.Owner) && (row.Owner.IsZero() || !mutant.On("fencedOwnerStays")) {
		give(row, to)
	}
	return nil
}

// Plan sets next_owner where from owns the input and no move is planned (Moving 1).
func (t *Rows) Plan(in runtime.Input, from, to runtime.Incarnation) error {
	if !t.alive(to) && !mutant.On("planToFenced") { // ▲ Moving 1
		return ErrFenced
	}
	row := t.Row(in)
	if row == nil || row.Owner != from || !row.NextOwner.IsZero() {
		return fmt.Errorf("planning a move of %s: %w", in, ErrLost)
	}
	row.NextOwner = to
	return nil
}

// Ready says that the next owner has loaded what it needs (Moving 2).
func (t *Rows) Ready(in runtime.Input, next runtime.Incarnation) {
	if row := t.Row(in); row != nil && row.NextOwner == next {
		row.NextReady = true
	}
}

// Give hands an input over in a commit that moves nothing else (Moving 3).
func (t *Rows) Give(in runtime.Input, owner runtime.Incarnation, epoch runtime.Epoch, to runtime.Incarnation) error {
	row := t.Row(in)
	if row == nil || row.Owner != owner || row.Epoch != epoch || row.NextOwner != to && !mutant.On("giveNoAssert") { // ▲ Moving 3
		return fmt.Errorf("giving away %s: %w", in, ErrLost)
	}
	give(row, to)
	return nil
}

// Fence ends a container: its row, then what it owns or was to own, then its writers. to answers
// the new owner of an input, zero for none; one that is fenced itself counts as none.
func (t *Rows) Fence(c runtime.Incarnation, to func(runtime.Input) runtime.Incarnation) {
	if r := t.container(c); r != nil {
		r.Fenced = true
	}
	for i := range t.Progress {
		row := &t.Progress[i]
		if row.NextOwner == c && !mutant.On("fenceForgetsNext") {
			row.NextOwner, row.NextReady = runtime.Incarnation{}, false
		}
		if row.Owner == c {
			next := to(row.Input)
			if !t.alive(next) && !mutant.On("fenceToFenced") { // ▲ Moving 1
				next = runtime.Incarnation{}
			}
			give(row, next)
		}
	}
	if !mutant.On("fenceKeepsWriter") {
		t.CloseStray(c, nil)
	}
}

// ListClose stores the close offsets of a writer, listed by a request begun after its close was
// committed (▲ Writing 7).
func (t *Rows) ListClose(id runtime.WriterID, offsets []CloseOffset) {
	if w := t.writer(id); w != nil && (w.Closed || mutant.On("offsetsBeforeClose")) && w.CloseOffsets == nil {
		w.CloseOffsets = slices.Clone(offsets)
	}
}

// DeleteWriters deletes the rows that no bucket can need any more (▲ Writing 8): closed, with close
// offsets, and every bucket's committed resume offset at or past its close offset.
func (t *Rows) DeleteWriters() []runtime.WriterID {
	var gone []runtime.WriterID
	t.Writers = slices.DeleteFunc(t.Writers, func(w WriterRow) bool {
		if !w.Closed || w.CloseOffsets == nil && !mutant.On("earlyDelete") {
			return false
		}
		for _, o := range w.CloseOffsets {
			if row := t.Row(o.Input); (row == nil || row.Position < o.Offset) && !mutant.On("earlyDelete") {
				return false
			}
		}
		gone = append(gone, w.Writer)
		return true
	})
	return gone
}

// Clone returns a deep copy.
func (t *Rows) Clone() Rows {
	c := Rows{
		Containers:  slices.Clone(t.Containers),
		Writers:     slices.Clone(t.Writers),
		Progress:    slices.Clone(t.Progress),
		Descriptors: slices.Clone(t.Descriptors),
	}
	for i := range c.Progress {
		c.Progress[i].Applied = slices.Clone(c.Progress[i].Applied)
	}
	return c
}
