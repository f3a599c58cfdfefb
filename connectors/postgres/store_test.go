package postgres

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/selfregulating/sr/connectors/postgres/pgtest"
	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/store/storetest"
)

func TestStoreConforms(t *testing.T) {
	url, n := pgtest.URL(t), 0
	storetest.Run(t, storetest.Harness{
		Open: func(t *testing.T, tables ...*state.Table) storetest.Subject {
			n++ // a topology and views of their own, which is cheaper than a database
			for _, table := range tables {
				if table.View != "" {
					table.View = fmt.Sprintf("%s_%d", table.View, n)
				}
			}
			return openAs(t, url, fmt.Sprintf("test%d", n), tables...)
		},
		Letters: func(t *testing.T, s storetest.Subject) []store.DeadLetter { return readLetters(t, s.(*Store)) },
	})
}

func open(t testing.TB, url string, tables ...*state.Table) *Store {
	t.Helper()
	return openAs(t, url, "test", tables...)
}

func openAs(t testing.TB, url, topology string, tables ...*state.Table) *Store {
	t.Helper()
	s, err := Open(t.Context(), configOf(url, topology, tables...))
	check(t, err)
	t.Cleanup(s.Close)
	return s
}

func configOf(url, topology string, tables ...*state.Table) Config {
	config := Config{URL: url, Topology: topology}
	for _, table := range tables {
		config.Operators = append(config.Operators, Operator{ID: runtime.OperatorID(table.Operator), Buckets: table.Buckets, Table: table})
	}
	return config
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readLetters(t *testing.T, s *Store) []store.DeadLetter {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), `
		SELECT operator, input_operator, input_partition, txid, coalesce(topic, ''), coalesce(partition, -1), coalesce("offset", -1),
			attempts, error, key, payload, coalesce((extract(epoch FROM record_time) * 1000)::bigint, 0)
		FROM sr.dead_letter WHERE topology = $1 ORDER BY input_operator, input_partition, txid, n`, s.topology)
	check(t, err)
	letters, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d store.DeadLetter, err error) {
		err = row.Scan(&d.Operator, &d.Input.Operator, &d.Input.Partition, &d.TxID, &d.Topic, &d.Partition, &d.Offset,
			&d.Attempts, &d.Error, &d.Key, &d.Payload, &d.Timestamp)
		return d, err
	})
	check(t, err)
	return letters
}
