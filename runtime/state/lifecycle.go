package state

import (
	"context"

	"github.com/selfregulating/sr/runtime"
)

// lifecycle passes the calls of State and Pipelined on to a store that may want neither.
type lifecycle struct {
	state     State
	pipelined Pipelined
}

func lifecycleOf(store any) lifecycle {
	s, _ := store.(State)
	p, _ := store.(Pipelined)
	return lifecycle{state: s, pipelined: p}
}

func (l lifecycle) BeginCommit(ctx context.Context, txid *runtime.TxID) error {
	if l.state == nil {
		return nil
	}
	return l.state.BeginCommit(ctx, txid)
}

func (l lifecycle) Commit(ctx context.Context, txid *runtime.TxID) error {
	if l.state == nil {
		return nil
	}
	return l.state.Commit(ctx, txid)
}

func (l lifecycle) Committed(txid runtime.TxID) {
	if l.pipelined != nil {
		l.pipelined.Committed(txid)
	}
}

func (l lifecycle) Failed(txid runtime.TxID) {
	if l.pipelined != nil {
		l.pipelined.Failed(txid)
	}
}

func (l lifecycle) Drop() {
	if l.pipelined != nil {
		l.pipelined.Drop()
	}
}
