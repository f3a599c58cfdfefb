package storetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/exchange"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// RunAlike folds the same random batches, replays and overflows among them, on two stores: their
// answers and rows must be the same.
func RunAlike(t *testing.T, one, other Harness) {
	for _, kind := range []state.Kind{state.NonTransactional, state.Transactional, state.Opaque} {
		t.Run(string(kind), func(t *testing.T) {
			table, twin := everyFold(kind), everyFold(kind)
			r := &alike{
				random: rand.New(rand.NewPCG(3, uint64(len(kind)))),
				stores: [2]*fixture{newFixture(t, one, table), newFixture(t, other, twin)},
				tables: [2]*state.Table{table, twin},
			}
			for n := range 60 {
				r.step(t, n)
			}
		})
	}
}

type alike struct {
	random *rand.Rand
	stores [2]*fixture
	tables [2]*state.Table
	txid   runtime.TxID
}

var alikeKeys = []string{"", "a", "A", "b", "犬", "a b"}

// step folds one batch; one in four is a replay of the last txid with other tuples, one in eight behind.
func (r *alike) step(t *testing.T, n int) {
	t.Helper()
	if r.random.IntN(4) > 0 {
		r.txid++
	}
	txid := r.txid + 1
	if r.random.IntN(8) == 0 {
		txid = max(txid-2, 1)
	}
	p := partials(t, everyLayout, func(p *exchange.Table) {
		for _, key := range alikeKeys {
			if r.random.IntN(2) == 0 {
				p.Add(text(key), r.cells()...)
			}
		}
	})
	var answers [2]string
	for i, f := range r.stores {
		err := f.write(store.Writes{Folds: []store.Fold{{Table: r.tables[i], TxID: txid, Partials: p}}})
		answers[i] = kindOf(err) + r.rows(t, i)
	}
	if answers[0] != answers[1] {
		t.Fatalf("step %d, txid %d: one store answers\n%s\nthe other\n%s", n, txid, answers[0], answers[1])
	}
}

func kindOf(err error) string {
	var data *store.DataError
	var behind *store.TxIDBehindError
	switch {
	case err == nil:
		return "done\n"
	case errors.As(err, &data):
		return "refused " + data.Code + "\n"
	case errors.As(err, &behind):
		return "behind\n"
	}
	return err.Error()
}

func (r *alike) rows(t *testing.T, i int) (text string) {
	t.Helper()
	var keys [][]byte
	for _, key := range alikeKeys {
		keys = append(keys, exchange.AppendText(nil, key))
	}
	rows, err := r.stores[i].ReadRows(t.Context(), r.tables[i], 0, keys)
	if err != nil {
		t.Fatal(err)
	}
	for k := range rows {
		text += fmt.Sprintf("%q %#v\n", alikeKeys[k], rows[k])
	}
	return text
}

func (r *alike) cells() []exchange.Cell {
	if r.random.IntN(6) == 0 {
		return none()
	}
	ints := []int64{0, 1, -1, 7, math.MaxInt64 / 4, math.MinInt64 / 4}
	doubles := []float64{0, 1, -2.5, 0.1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64}
	numerics := []string{"0", "0.00", "1.10", "-1.1", "9", "10", "1e20", "-123456789.987654321"}
	texts := []string{"", "a", "B", "ü", "zz"}
	r.random.Shuffle(len(doubles), func(i, j int) { doubles[i], doubles[j] = doubles[j], doubles[i] })
	return one(ints[r.random.IntN(len(ints))], doubles[0], numerics[r.random.IntN(len(numerics))], texts[r.random.IntN(len(texts))])
}
