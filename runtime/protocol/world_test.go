package protocol

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/selfregulating/sr/runtime"
)

// Bounds that shape the explorer's world. Buckets 0 and 1 are fed by the source stage, 2 and 3 by
// the keyed stage that owns 0 and 1.
const (
	partitions = 2
	buckets    = 4
	lives      = 3 // A1, B1, A2
)

var lifeNames = [lives]string{"A1", "B1", "A2"}

func life(i int) runtime.Incarnation   { return runtime.Incarnation{15: byte(i + 1)} }
func lifeOf(c runtime.Incarnation) int { return int(c[15]) - 1 } // -1: nobody
func writerID(n int) runtime.WriterID  { return runtime.WriterID{15: byte(n)} }
func writerOf(w runtime.WriterID) int  { return int(w[15]) }
func sourceInput(p int) runtime.Input  { return runtime.Input{Operator: "0", Partition: int32(p)} }
func bucketInput(b int) runtime.Input {
	return runtime.Input{Operator: stages[b/2], Partition: int32(b)}
}

func number(in runtime.Input) byte                    { return in.Operator[0]<<4 | byte(in.Partition) }
func nameOf(w runtime.WriterID) string                { return "w" + string(rune('0'+writerOf(w))) }
func nobody(runtime.Input) (none runtime.Incarnation) { return none }

var stages = [2]runtime.OperatorID{"1", "2"}

// world is everything: Postgres, Kafka, the memory of every process, requests in flight, the faults
// that are left. Its parts are shared between worlds and copied before they are changed.
type world struct {
	pg     *store
	saved  *store // a backup, when one was taken
	logs   [buckets]*partition
	proc   [lives]*process // nil: not started yet
	air    *air
	left   budget
	opened int // writers ever opened
	dirty  uint16
}

// budget counts the faults that may still happen.
type budget struct {
	crash, fence, move, dup, unknown, produce, register, restore uint8
}

// store is Postgres: the protocol's rows and the user's state that moves with them.
type store struct {
	rows    Rows
	counted [buckets]uint8 // records counted, a bit each
	decided []uint8        // committed seq of each writer, also after its row is deleted
	sum     uint64
}

// partition is one exchange partition.
type partition struct {
	blocks []Block
	sum    uint64
}

// air holds what is under way without anybody waiting for it.
type air struct {
	commits []lateCommit
	strays  []strayBlock
	sum     uint64
}

// lateCommit is a commit that its client gave up on.
type lateCommit struct {
	life, stage int
	commit      Commit
	load        load
}

// strayBlock is a block whose produce was given up.
type strayBlock struct {
	bucket int
	block  Block
}

// load is what a commit of a keyed stage counts, by bucket within the stage.
type load struct {
	add, bad [2]uint8
	right    uint8 // records routed to the second out-bucket
}

// process is the memory of one life of a container.
type process struct {
	dead  bool
	src   Emitter
	right []uint8 // by flight of src: records routed to bucket 1
	told  [partitions]int
	stage [2]Production
	loads [2][]load // by flight
	held  [buckets]*bucket
	cache Decisions
	polls *poll
	sum   uint64
}

// poll is an answer on its way: the view as of the request, and how far each bucket was read then.
type poll struct {
	view  View
	asked [buckets]int64
}

// bucket is the memory of an owned bucket.
type bucket struct {
	Receiver
	add, bad uint8 // merged since the last freeze; bad: twice or out of order
	told     int   // next owner that it has seen, as life+1
}

const (
	dirtyStore = 1 << iota
	dirtyAir
	dirtyLog  // << bucket
	dirtyProc = dirtyLog << buckets
)

// fork returns a world that shares everything with w.
func (w *world) fork() *world {
	n := *w
	return &n
}

func (w *world) ownStore() *store {
	if w.dirty&dirtyStore == 0 {
		w.dirty |= dirtyStore
		w.pg = &store{rows: w.pg.rows.Clone(), counted: w.pg.counted, decided: slices.Clone(w.pg.decided)}
	}
	return w.pg
}

func (w *world) ownAir() *air {
	if w.dirty&dirtyAir == 0 {
		w.dirty |= dirtyAir
		w.air = &air{commits: slices.Clone(w.air.commits), strays: slices.Clone(w.air.strays)}
	}
	return w.air
}

func (w *world) append(b int, x Block) {
	l := w.logs[b]
	x.Offset = int64(len(l.blocks))
	w.logs[b] = &partition{blocks: append(slices.Clone(l.blocks), x)}
	w.dirty |= dirtyLog << b
}

func (w *world) own(i int) *process {
	if w.dirty&(dirtyProc<<i) == 0 {
		w.dirty |= dirtyProc << i
		w.proc[i] = w.proc[i].clone()
	}
	return w.proc[i]
}

func (p *process) clone() *process {
	c := *p
	c.src = p.src.Clone()
	c.right = slices.Clone(p.right)
	for s := range p.stage {
		c.stage[s] = p.stage[s].Clone()
		c.loads[s] = slices.Clone(p.loads[s])
	}
	for b, h := range p.held {
		if h != nil {
			c.held[b] = &bucket{Receiver: h.Receiver.Clone(), add: h.add, bad: h.bad, told: h.told}
		}
	}
	c.cache.view = slices.Clone(p.cache.view)
	return &c
}

// row returns the progress row of bucket b.
func (w *world) row(b int) *Progress { return w.pg.rows.Row(bucketInput(b)) }

var seed = maphash.MakeSeed()

// seal hashes what changed, in a canonical encoding: equal worlds have equal sums.
func (w *world) seal() {
	var buf [1024]byte
	if w.dirty&dirtyStore != 0 {
		w.pg.sum = maphash.Bytes(seed, w.pg.encode(buf[:0]))
	}
	if w.dirty&dirtyAir != 0 {
		w.air.sum = maphash.Bytes(seed, w.air.encode(buf[:0]))
	}
	for b := range w.logs {
		if w.dirty&(dirtyLog<<b) != 0 {
			w.logs[b].sum = maphash.Bytes(seed, w.logs[b].encode(buf[:0]))
		}
	}
	for i := range w.proc {
		if w.dirty&(dirtyProc<<i) != 0 {
			w.proc[i].sum = maphash.Bytes(seed, w.proc[i].encode(buf[:0]))
		}
	}
	w.dirty = 0
}

// key tells worlds apart.
func (w *world) key() uint64 {
	var buf [128]byte
	e := buf[:0]
	put := func(x uint64) { e = binary.LittleEndian.AppendUint64(e, x) }
	put(w.pg.sum)
	if w.saved != nil {
		put(w.saved.sum)
	} else {
		put(0)
	}
	for _, l := range w.logs {
		put(l.sum)
	}
	for _, p := range w.proc {
		if p != nil {
			put(p.sum)
		} else {
			put(0)
		}
	}
	put(w.air.sum)
	l := w.left
	e = append(e, byte(w.opened), l.crash, l.fence, l.move, l.dup, l.unknown, l.produce, l.register, l.restore)
	return maphash.Bytes(seed, e)
}
