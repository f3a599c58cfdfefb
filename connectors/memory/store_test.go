package memory

import (
	"testing"

	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
	"github.com/selfregulating/sr/runtime/store/storetest"
)

func TestStoreConforms(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		Open:    func(*testing.T, ...*state.Table) storetest.Subject { return NewStore() },
		Letters: func(_ *testing.T, s storetest.Subject) []store.DeadLetter { return s.(*Store).Letters() },
	})
}
