package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
	"github.com/selfregulating/sr/runtime/store"
)

// Store is the twin of the Postgres store: the same answers to the same calls, lost with the process.
// Times are those of this machine. It is safe for concurrent use; make it with NewStore.
type Store struct {
	mu      sync.Mutex
	rows    protocol.Rows
	leases  map[runtime.Incarnation]*store.Holder
	expires map[runtime.Incarnation]time.Time
	closed  map[runtime.WriterID]time.Time
	tables  map[string]map[rowKey]store.Row // by operator
	letters []store.DeadLetter
}

var _ store.Store = (*Store)(nil)

// rowKey names a state row. The key is encoded.
type rowKey struct {
	bucket runtime.Bucket
	key    string
}

// NewStore makes an empty store.
func NewStore() *Store {
	return &Store{
		leases:  make(map[runtime.Incarnation]*store.Holder),
		expires: make(map[runtime.Incarnation]time.Time),
		closed:  make(map[runtime.WriterID]time.Time),
		tables:  make(map[string]map[rowKey]store.Row),
	}
}

// Close does nothing: the rows live as long as the store.
func (s *Store) Close() {}

// Register starts a container incarnation with a lease; see store.Containers.
func (s *Store) Register(_ context.Context, c store.Container, lease time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[c.Incarnation] != nil {
		return fmt.Errorf("registering container %s: incarnation %s exists", c.Name, c.Incarnation)
	}
	s.rows.Register(c.Incarnation)
	s.leases[c.Incarnation] = &store.Holder{Container: c}
	s.expires[c.Incarnation] = time.Now().Add(lease)
	return nil
}

// Heartbeat renews the lease and closes stray writers; see store.Containers.
func (s *Store) Heartbeat(_ context.Context, c runtime.Incarnation, lease time.Duration, inUse []runtime.WriterID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.alive(c) {
		return fmt.Errorf("renewing the lease of %s: %w", c, protocol.ErrFenced)
	}
	s.leases[c].Renewed++
	s.expires[c] = time.Now().Add(lease)
	s.rows.CloseStray(c, inUse)
	s.noteClosed()
	return nil
}

func (s *Store) alive(c runtime.Incarnation) bool {
	return slices.Contains(s.rows.Containers, protocol.ContainerRow{Incarnation: c})
}

// Holders lists the other unfenced containers; see store.Containers.
func (s *Store) Holders(_ context.Context, c runtime.Incarnation) ([]store.Holder, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var holders []store.Holder
	for _, row := range s.rows.Containers {
		if row.Incarnation != c && !row.Fenced {
			h := *s.leases[row.Incarnation]
			h.LeaseLeft = time.Until(s.expires[row.Incarnation])
			holders = append(holders, h)
		}
	}
	return holders, nil
}

// Fence ends a container and gives all that it owned to another; see store.Containers.
func (s *Store) Fence(_ context.Context, c, to runtime.Incarnation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !to.IsZero() && (to == c || !s.alive(to)) {
		return fmt.Errorf("fencing container %s: %w", c, protocol.ErrFenced)
	}
	s.rows.Fence(c, func(runtime.Input) runtime.Incarnation { return to })
	s.noteClosed()
	return nil
}

// Unregister ends a container that has nothing in flight; see store.Containers.
func (s *Store) Unregister(ctx context.Context, c runtime.Incarnation) error {
	return s.Fence(ctx, c, runtime.Incarnation{})
}

// OpenWriter inserts a writer of a living container; see store.Writers.
func (s *Store) OpenWriter(_ context.Context, c runtime.Incarnation, stage string, id runtime.WriterID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.rows.OpenWriter(c, stage, id); err != nil {
		return fmt.Errorf("opening a writer of stage %s: %w", stage, err)
	}
	return nil
}

// CloseWriter closes a writer; one that is closed or gone stays so.
func (s *Store) CloseWriter(_ context.Context, id runtime.WriterID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows.CloseWriter(id)
	s.noteClosed()
	return nil
}

// noteClosed remembers when a writer was first seen closed.
func (s *Store) noteClosed() {
	for _, w := range s.rows.Writers {
		if _, known := s.closed[w.Writer]; w.Closed && !known {
			s.closed[w.Writer] = time.Now()
		}
	}
}

// View reads one snapshot of the writers named; see store.Writers.
func (s *Store) View(_ context.Context, ids []runtime.WriterID) (protocol.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(s.rows.View(), func(w protocol.WriterState) bool { return !slices.Contains(ids, w.Writer) }), nil
}

// Unlisted returns closed writers that have no close offsets yet; see store.Writers.
func (s *Store) Unlisted(_ context.Context, stage string) (ids []runtime.WriterID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.rows.Writers {
		if w.Stage == stage && w.Closed && w.CloseOffsets == nil {
			ids = append(ids, w.Writer)
		}
	}
	return ids, nil
}

// ListClose stores the end offsets of every out-bucket; see store.Writers.
func (s *Store) ListClose(_ context.Context, ids []runtime.WriterID, offsets []protocol.CloseOffset) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.rows.ListClose(id, append([]protocol.CloseOffset{}, offsets...))
	}
	return nil
}

// DeleteWriters deletes the rows that no bucket needs any more; see store.Writers.
func (s *Store) DeleteWriters(_ context.Context, margin time.Duration) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	trial := s.rows.Clone()
	old := slices.DeleteFunc(trial.DeleteWriters(), func(id runtime.WriterID) bool { return time.Since(s.closed[id]) < margin })
	s.rows.Writers = slices.DeleteFunc(s.rows.Writers, func(w protocol.WriterRow) bool { return slices.Contains(old, w.Writer) })
	for _, id := range old {
		delete(s.closed, id)
	}
	return len(old), nil
}
