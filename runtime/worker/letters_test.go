package worker

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/topology"
	"github.com/selfregulating/sr/runtime/vitals"
)

var errBad = errors.New("this word is bad")

// fragile counts words, one by one, and fails at the word bad.
func fragile(k topology.Kafka, calls map[string]int) *topology.Builder {
	b := topology.New("test")
	each := topology.FlatMap(topology.From(b, "in", k, topology.Text), "each", func(text string, emit func(string)) error {
		calls[strings.Clone(text)]++
		for _, w := range strings.Fields(text) {
			if w == "bad" {
				return errBad
			}
			emit(w)
		}
		return nil
	})
	topology.PersistentAggregate(topology.GroupBy(each, topology.ByText("word")), "counts",
		topology.StateConfig{Buckets: buckets}, topology.Count[string]("count"))
	return b
}

func TestARecordWhoseFunctionFailsIsADeadLetterAsAWhole(t *testing.T) {
	for retries, want := range map[int]int{-1: 1, 0: topology.DefaultRetries + 1, 5: 6} {
		t.Run(fmt.Sprint(retries), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := map[string]int{}
				k := from(topology.Opaque)
				k.Retries = retries
				r := newRig(t, 2, fragile(k, calls))
				r.feed(20)
				const bad = "before bad after"
				r.produce(1, bad)
				r.feed(20)
				c := r.catchUp()
				r.wantExact()
				if calls[bad] != want {
					t.Errorf("the record was tried %d times, want %d", calls[bad], want)
				}
				l, ok := r.letters()[bad]
				if !ok || l.Topic != sentences || l.Partition != 1 || l.Offset != 10 || l.Attempts != want || l.Operator != "in" ||
					l.Input != (runtime.Input{Operator: "in", Partition: 1}) || l.TxID < 1 || !strings.Contains(l.Error, errBad.Error()) {
					t.Errorf("the dead letter is %+v", l)
				}
				if n := c.sum("in", func(i *vitals.Instance) int64 { return i.DeadLetters.Load() }); n != 1 || len(r.letters()) != 1 {
					t.Errorf("%d dead letters are counted and %d written, want 1", n, len(r.letters()))
				}
			})
		})
	}
}

func TestADeadLetterIsWrittenOnceWhateverBecomesOfItsCommit(t *testing.T) {
	for kind := topology.Opaque; kind <= topology.Transactional; kind++ {
		for _, f := range fates {
			t.Run(fmt.Sprintf("%s, %s", kind, f.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, 1, fragile(from(kind), map[string]int{}))
					r.feed(5)
					r.produce(0, "a bad record")
					f.strike(r, 1)
					if n := len(r.letters()); n != 1 {
						t.Errorf("%d dead letters, want 1", n)
					}
				})
			})
		}
	}
}

// amount is a record "key number".
type amount struct {
	key string
	n   int64
}

func amounts(b *topology.Builder, k topology.Kafka) topology.Stream[amount] {
	return topology.Map(topology.From(b, "in", k, topology.Text), "amount", func(text string) (amount, error) {
		key, n, _ := strings.Cut(text, " ")
		v, err := strconv.ParseInt(n, 10, 64)
		return amount{strings.Clone(key), v}, err
	})
}

func keyOf(a amount) string { return a.key }
func number(a amount) int64 { return a.n }

func totals(k topology.Kafka, config topology.StateConfig) *topology.Builder {
	b := topology.New("test")
	topology.PersistentAggregate(topology.GroupBy(amounts(b, k), topology.By("key", keyOf)), "counts", config, topology.Sum("total", number))
	return b
}

var most = "most " + strconv.FormatInt(math.MaxInt64, 10)

func TestEntriesThatTheStoreRefusesAreDeadLettersOfTheSameCommit(t *testing.T) {
	for name, config := range map[string]topology.StateConfig{"exchange": {Buckets: 1}, "direct": {PartitionedByKey: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1, totals(from(topology.Opaque), config))
				r.produce(0, most)
				r.catchUp()
				r.produce(0, "most 1")
				r.produce(0, "few 2")
				r.produce(0, "few 3")
				c := r.catchUp()
				if d := difference(r.column("counts", 0), map[string]int64{"most": math.MaxInt64, "few": 5}); d != "" {
					t.Error(d)
				}
				l, ok := r.letters()[`("most")`]
				commits := c.moves(l.Input.Operator)
				if !ok || l.Operator != "counts" || l.Offset != -1 || l.TxID == 0 || l.Error == "" || len(r.letters()) != 1 {
					t.Fatalf("the dead letter is %+v", l)
				}
				if name == "exchange" && (len(commits) == 0 || l.TxID != commits[0].Moves[0].TxID) {
					t.Errorf("the dead letter has txid %d, its commit is %+v", l.TxID, commits)
				}
			})
		})
	}
}

// texts keeps the numbers of a key as one text, read, modified and written. Zero becomes a NUL, which
// no function refuses, but the store.
func texts(b *topology.Builder, k topology.Kafka, config topology.StateConfig) topology.State {
	return topology.PersistentAggregate(topology.GroupBy(amounts(b, k), topology.By("key", keyOf)).With(amountCodec), "texts", config,
		topology.ReduceTo("all", func() string { return "" }, func(all string, a amount) (string, error) {
			if a.n == 0 {
				return all + "\x00", nil
			}
			return all + strconv.FormatInt(a.n, 10), nil
		}))
}

// handedOn counts how often texts change.
func handedOn(k topology.Kafka) *topology.Builder {
	b := topology.New("test")
	last := texts(b, k, topology.StateConfig{Buckets: 2})
	byKey := topology.By("key", func(v topology.KeyValue) string { return v.Key[0].(string) })
	topology.PersistentAggregate(topology.GroupBy(topology.NewValues(last), byKey), "counts",
		topology.StateConfig{Buckets: 2}, topology.Count[topology.KeyValue]("changes"))
	return b
}

var amountCodec = topology.Codec[amount]{
	Append: func(dst []byte, a amount) ([]byte, error) { return fmt.Appendf(dst, "%s %d", a.key, a.n), nil },
	Decode: func(data []byte) (a amount, err error) {
		key, n, _ := strings.Cut(string(data), " ")
		a.key = key
		a.n, err = strconv.ParseInt(n, 10, 64)
		return a, err
	},
}

func TestABatchThatHandedOnARefusedEntryIsBuiltAgainWithoutIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, handedOn(from(topology.Opaque)))
		for i := range 20 {
			r.produce(0, fmt.Sprintf("k%d %d", i, i)) // k0 is refused
		}
		c := r.catchUp()
		want := map[string]int64{}
		for i := 1; i < 20; i++ {
			want[fmt.Sprintf("k%d", i)] = 1
		}
		if d := difference(r.column("counts", 0), want); d != "" {
			t.Error(d)
		}
		l, ok := r.letters()[`("k0")`]
		if !ok || l.Operator != "texts" || l.TxID == 0 || len(r.letters()) != 1 {
			t.Errorf("the dead letter is %+v", l)
		}
		if n := c.sum("counts", func(i *vitals.Instance) int64 { return i.Garbage.Load() }); n == 0 {
			t.Error("no block of the first attempt was dropped: it was committed as produced, without its refused entry")
		}
	})
}

func TestARefusedRowIsNotWhatTheNextBatchStartsFrom(t *testing.T) {
	for name, config := range map[string]topology.StateConfig{"exchange": {Buckets: 1}, "direct": {PartitionedByKey: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := topology.New("test")
				texts(b, from(topology.Opaque), config)
				r := newRig(t, 1, b)
				value := func() (all string) {
					for _, rows := range r.store.Dump(&state.Table{Operator: "texts"}) {
						for _, row := range rows {
							all += row.Value[0].(string)
						}
					}
					return all
				}
				c := r.container().start()
				r.produce(0, "a 1")
				r.until("the first is stored", func() bool { return value() == "1" })
				r.produce(0, "a 0")
				r.until("the second is refused", func() bool { return len(r.store.Letters()) == 1 })
				r.produce(0, "a 2")
				r.until("the third follows the first", func() bool { return value() == "12" })
				r.must(c.drain())
			})
		})
	}
}

func TestASumThatOverflowsWhereBlocksMeetIsADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, totals(from(topology.Opaque), topology.StateConfig{Buckets: 1}))
		c := r.container(func(c *Config) { c.BatchBytes = 1 })
		c.around = func(op string, do func() error) error {
			if op == "view" && len(c.moves("in")) < 2 {
				return protocol.ErrUnknown // undecided until both blocks are there
			}
			return do()
		}
		r.produce(0, most)
		c.start()
		r.until("the first block is committed", func() bool { return len(c.moves("in")) == 1 })
		r.produce(0, "most 1")
		r.produce(0, "few 2")
		r.until("both are folded", func() bool { return r.column("counts", 0)["few"] == 2 })
		r.must(c.drain())
		if d := difference(r.column("counts", 0), map[string]int64{"most": math.MaxInt64, "few": 2}); d != "" {
			t.Error(d)
		}
		l, ok := r.letters()[`("most")`]
		if !ok || l.Operator != "counts" || l.TxID != c.moves("counts")[0].Moves[0].TxID || len(r.letters()) != 1 {
			t.Errorf("the dead letter is %+v", l)
		}
		if n := len(c.did("refused")); n != 0 {
			t.Errorf("the store was asked %d times: the blocks did not meet in one batch", n)
		}
	})
}

// twoEdges feeds two states: counts by key, and sums of another key.
func twoEdges(k topology.Kafka, second topology.StateConfig) *topology.Builder {
	b := topology.New("test")
	in := amounts(b, k)
	topology.PersistentAggregate(topology.GroupBy(in, topology.By("key", keyOf)), "counts", topology.StateConfig{Buckets: 2}, topology.Count[amount]("count"))
	kind := topology.By("kind", func(a amount) string { return strings.TrimRight(a.key, "0123456789") })
	topology.PersistentAggregate(topology.GroupBy(in, kind), "totals", second, topology.Sum("total", number))
	return b
}

func TestARecordRefusedByTheSecondTableIsInNeither(t *testing.T) {
	for name, config := range map[string]topology.StateConfig{"exchange": {Buckets: 1}, "direct": {PartitionedByKey: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 1, twoEdges(from(topology.Opaque), config))
				r.produce(0, "a1 1")
				r.produce(0, "b1 "+strconv.FormatInt(math.MaxInt64-1, 10))
				r.produce(0, "a2 2")
				r.produce(0, "b2 5") // overflows the sum of b
				r.produce(0, "b3 1")
				r.produce(0, "a3 3")
				r.catchUp()
				if d := difference(r.column("counts", 0), map[string]int64{"a1": 1, "a2": 1, "a3": 1, "b1": 1, "b3": 1}); d != "" {
					t.Error("counts: " + d)
				}
				if d := difference(r.column("totals", 0), map[string]int64{"a": 6, "b": math.MaxInt64}); d != "" {
					t.Error("totals: " + d)
				}
				if l, ok := r.letters()["b2 5"]; !ok || l.Offset != 3 || len(r.letters()) != 1 {
					t.Errorf("the dead letter is %+v", l)
				}
			})
		})
	}
}

// blobs feeds two states: counts by key, and the greatest text of each, which is long.
func blobs(k topology.Kafka) *topology.Builder {
	b := topology.New("test")
	in := topology.From(b, "in", k, topology.Text)
	key := topology.By("key", func(s string) string { return s[:2] })
	topology.PersistentAggregate(topology.GroupBy(in, key), "counts", topology.StateConfig{Buckets: 1}, topology.Count[string]("count"))
	topology.PersistentAggregate(topology.GroupBy(in, key), "texts", topology.StateConfig{Buckets: 1}, topology.Max("text", func(s string) string { return s }))
	return b
}

func TestABatchIsCutBeforeARecordThatFillsTheSecondTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, blobs(from(topology.Opaque)))
		want := map[string]int64{}
		for i := range 3 { // two do not fit into one block
			key := fmt.Sprintf("k%d", i)
			want[key] = 2
			r.produce(0, key)
			r.produce(0, key+strings.Repeat("x", 5<<20))
		}
		c := r.container()
		c.fetchBytes = 64 << 20 // all in one fetch
		r.must(c.catchUp())
		if d := difference(r.column("counts", 0), want); d != "" {
			t.Error(d)
		}
		if n := len(c.moves("in")); n < 3 {
			t.Errorf("%d batches, want one for each long record", n)
		}
		if n := len(r.letters()); n != 0 {
			t.Errorf("%d dead letters", n)
		}
	})
}
