package postgres

import (
	"testing"

	"github.com/selfregulating/sr/connectors/memory"
	"github.com/selfregulating/sr/connectors/postgres/pgtest"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store/storetest"
)

func TestFoldsInSQLAreThoseOfTheMemoryTwin(t *testing.T) {
	storetest.RunAlike(t,
		storetest.Harness{Open: func(t *testing.T, tables ...*state.Table) storetest.Subject { return open(t, pgtest.URL(t), tables...) }},
		storetest.Harness{Open: func(*testing.T, ...*state.Table) storetest.Subject { return memory.NewStore() }},
	)
}
