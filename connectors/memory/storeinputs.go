package memory

import (
	"context"
	"slices"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
)

// AddInputs inserts rows for inputs that have none, owned by nobody; see store.Inputs.
func (s *Store) AddInputs(_ context.Context, rows []protocol.Progress) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range rows {
		p.Owner, p.NextOwner, p.NextReady = runtime.Incarnation{}, runtime.Incarnation{}, false
		p.Applied = slices.Clone(p.Applied)
		s.rows.AddInput(p)
	}
	return nil
}

// Assign gives inputs without owner to a living container; see store.Inputs.
func (s *Store) Assign(_ context.Context, c runtime.Incarnation, operator runtime.OperatorID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.alive(c) {
		return protocol.ErrFenced
	}
	for _, p := range s.rows.Progress {
		if p.Input.Operator == operator {
			if err := s.rows.Assign(p.Input, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// Load reads the rows of an operator; see store.Inputs.
func (s *Store) Load(_ context.Context, operator runtime.OperatorID) (list []protocol.Progress, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.rows.Progress {
		if p.Input.Operator == operator {
			p.Applied = slices.Clone(p.Applied)
			list = append(list, p)
		}
	}
	return list, nil
}

// RaiseEpochs fences the container's own late commits; see store.Inputs.
func (s *Store) RaiseEpochs(_ context.Context, c runtime.Incarnation, ins []runtime.Input) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows.RaiseEpochs(c, ins)
	return nil
}

// Describe inserts descriptors before the blocks of their batch; see store.Inputs.
func (s *Store) Describe(_ context.Context, c runtime.Incarnation, epochs []runtime.Epoch, ds []protocol.Descriptor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows.Describe(c, epochs, ds)
}

// Descriptors reads the open descriptors of an operator; see store.Inputs.
func (s *Store) Descriptors(_ context.Context, operator runtime.OperatorID) (list []protocol.Descriptor, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.rows.Descriptors {
		if d.Input.Operator == operator {
			list = append(list, d)
		}
	}
	return list, nil
}

// Plan sets the next owner of an input (Moving 1); see the Postgres store.
func (s *Store) Plan(_ context.Context, in runtime.Input, from, to runtime.Incarnation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows.Plan(in, from, to)
}

// Ready says that the next owner has loaded what it needs (Moving 2).
func (s *Store) Ready(_ context.Context, in runtime.Input, next runtime.Incarnation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows.Ready(in, next)
	return nil
}

// Give hands an input over in a commit that moves nothing else (Moving 3).
func (s *Store) Give(_ context.Context, in runtime.Input, owner runtime.Incarnation, epoch runtime.Epoch, to runtime.Incarnation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows.Give(in, owner, epoch, to)
}
