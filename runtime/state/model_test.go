package state_test

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/state"
)

var modelKeys = []string{"a", "b", "c", "d", "e"}

// change is one update of a key. Its order among the updates of the key matters, so that a lost, a
// doubled and a swapped one all show.
type change struct {
	key string
	n   int64
}

func (c change) apply(old int64, found bool) (int64, error) {
	if !found {
		old = 7
	}
	return old*31 + c.n, nil
}

// model is the plain truth: each batch applied once, as its successful attempt held it.
type model map[string]int64

func (m model) apply(batch []change) {
	for _, c := range batch {
		old, found := m[c.key]
		m[c.key], _ = c.apply(old, found)
	}
}

type mapState interface {
	state.MapState[string, int64]
	state.Pipelined
}

// kind is a kind of map: how it stands over a store, and what an attempt at a batch holds after those
// that failed.
type kind[R any] struct {
	over    func(state.BackingMap[string, R]) mapState
	attempt func(t *rapid.T, failed [][]change) []change
}

func drawBatch(t *rapid.T) []change {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) change {
		return change{rapid.SampledFrom(modelKeys).Draw(t, "key"), rapid.Int64Range(0, 9).Draw(t, "n")}
	}), 0, 6).Draw(t, "batch")
}

// sameTuples is what a transactional spout replays.
func sameTuples(t *rapid.T, failed [][]change) []change {
	if len(failed) > 0 {
		return failed[0]
	}
	return drawBatch(t)
}

// otherTuples is what an opaque spout may replay.
func otherTuples(t *rapid.T, _ [][]change) []change { return drawBatch(t) }

// otherTuplesOfAllKeys is what an opaque map needs in a store without transactions: no key of a failed
// attempt may be missing (TestOpaqueHoleOfARemovedKey).
func otherTuplesOfAllKeys(t *rapid.T, failed [][]change) []change {
	batch := drawBatch(t)
	has := map[string]bool{}
	for _, c := range batch {
		has[c.key] = true
	}
	for _, attempt := range failed {
		for _, c := range attempt {
			if !has[c.key] {
				has[c.key] = true
				batch = append(batch, change{c.key, 1})
			}
		}
	}
	return batch
}

func overTransactional(b state.BackingMap[string, transactional]) mapState {
	return state.NewTransactionalMap(b)
}
func overOpaque(b state.BackingMap[string, opaque]) mapState { return state.NewOpaqueMap(b) }
func overValues(b state.BackingMap[string, int64]) mapState  { return state.NewNonTransactionalMap(b) }

func TestTransactionalMapAgreesWithAPlainModel(t *testing.T) {
	t.Run("rows durable one by one", func(t *testing.T) {
		checkTorn(t, kind[transactional]{overTransactional, sameTuples}, 3)
	})
	t.Run("batches durable as a whole", func(t *testing.T) {
		checkStaged(t, kind[transactional]{overTransactional, sameTuples})
	})
}

func TestOpaqueMapAgreesWithAPlainModel(t *testing.T) {
	t.Run("rows durable one by one", func(t *testing.T) {
		checkTorn(t, kind[opaque]{overOpaque, otherTuplesOfAllKeys}, 3)
	})
	t.Run("batches durable as a whole", func(t *testing.T) {
		checkStaged(t, kind[opaque]{overOpaque, otherTuples})
	})
}

func TestNonTransactionalMapAgreesWithAPlainModel(t *testing.T) {
	t.Run("rows durable one by one, nothing fails", func(t *testing.T) {
		checkTorn(t, kind[int64]{overValues, otherTuples}, 0)
	})
	t.Run("batches durable as a whole", func(t *testing.T) {
		checkStaged(t, kind[int64]{overValues, otherTuples})
	})
}

// checkTorn runs batches one after the other over a store that writes rows one by one. Each fails up
// to failures times: in the middle of its put, before it, after it, or with the loss of the process.
func checkTorn[R any](t *testing.T, k kind[R], failures int) {
	rapid.Check(t, func(t *rapid.T) {
		store := &torn[R]{failAfter: -1}
		truth := model{}
		m := k.over(cached(t, store, fewRows))
		for txid := runtime.TxID(1); txid <= 6; txid++ {
			var failed [][]change
			for n := rapid.IntRange(0, failures).Draw(t, "failures"); n > 0; n-- {
				batch := k.attempt(t, failed)
				failed = append(failed, batch)
				switch rapid.SampledFrom([]string{"torn put", "abandoned", "failed elsewhere", "killed"}).Draw(t, "failure") {
				case "torn put":
					store.failAfter = rapid.IntRange(0, len(batch)).Draw(t, "rows written")
					_ = process(t, m, txid, batch)
					store.failAfter = -1
				case "abandoned":
					must(t, m.BeginCommit(t.Context(), &txid))
					update(t, m, batch)
				case "failed elsewhere":
					must(t, process(t, m, txid, batch))
				case "killed":
					must(t, process(t, m, txid, batch))
					m = k.over(cached(t, store, fewRows))
				}
				m.Failed(txid)
			}
			batch := k.attempt(t, failed)
			must(t, process(t, m, txid, batch))
			m.Committed(txid)
			truth.apply(batch)
			wantModel(t, "the map", m, truth)
			wantModel(t, "the store", k.over(store), truth)
		}
	})
}

// checkStaged keeps up to three batches in flight over a store that commits each as a whole; any may
// fail, and those behind it with it, and another owner may take over.
func checkStaged[R any](t *testing.T, k kind[R]) {
	rapid.Check(t, func(t *rapid.T) {
		store := &staged[R]{}
		truth := model{}
		m := k.over(cached(t, store, fewRows))
		var done runtime.TxID // committed
		var inFlight [][]change
		failed := map[runtime.TxID][][]change{}
		lose := func(from int) {
			for i := from; i < len(inFlight); i++ {
				txid := done + 1 + runtime.TxID(i)
				failed[txid] = append(failed[txid], inFlight[i])
			}
			inFlight = inFlight[:from]
		}
		t.Repeat(map[string]func(*rapid.T){
			"process": func(t *rapid.T) {
				if len(inFlight) == 3 {
					return
				}
				txid := done + 1 + runtime.TxID(len(inFlight))
				batch := k.attempt(t, failed[txid])
				inFlight = append(inFlight, batch)
				must(t, process(t, m, txid, batch))
			},
			"committed": func(t *rapid.T) {
				if len(inFlight) > 0 {
					done++
					m.Committed(done)
					truth.apply(inFlight[0])
					inFlight = inFlight[1:]
				}
			},
			"failed": func(t *rapid.T) {
				if len(inFlight) > 0 {
					i := rapid.IntRange(0, len(inFlight)-1).Draw(t, "which")
					m.Failed(done + 1 + runtime.TxID(i))
					lose(i)
				}
			},
			"taken over": func(*rapid.T) {
				m.Drop()
				lose(0)
			},
			"": func(t *rapid.T) {
				wantModel(t, "the store", k.over(&staged[R]{rows: store.rows}), truth)
				ahead := maps.Clone(truth)
				for _, batch := range inFlight {
					ahead.apply(batch)
				}
				wantModel(t, "the map", m, ahead)
			},
		})
	})
}

// process runs an attempt at a batch as far as Commit.
func process(t tb, m mapState, txid runtime.TxID, batch []change) error {
	must(t, m.BeginCommit(t.Context(), &txid))
	update(t, m, batch)
	return m.Commit(t.Context(), &txid)
}

// update makes the changes of a batch in two calls.
func update(t tb, m mapState, batch []change) {
	for _, part := range [][]change{batch[:len(batch)/2], batch[len(batch)/2:]} {
		keys := make([]string, len(part))
		updaters := make([]state.ValueUpdater[int64], len(part))
		for i, c := range part {
			keys[i], updaters[i] = c.key, c.apply
		}
		must(t, updateErr(m.MultiUpdate(t.Context(), keys, updaters)))
	}
}

func wantModel(t tb, what string, m mapState, want model) {
	t.Helper()
	got, err := m.MultiGet(t.Context(), modelKeys)
	must(t, err)
	for i, key := range modelKeys {
		if value, found := want[key]; got[i] != (state.Entry[int64]{Value: value, Found: found}) {
			t.Errorf("%s has %q as %+v, the model as (%d, %v)", what, key, got[i], value, found)
		}
	}
}
