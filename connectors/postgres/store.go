package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/selfregulating/sr/migrations"
	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/state"
	"github.com/selfregulating/sr/runtime/store"
)

// Config says which database, and whose rows in it.
type Config struct {
	// URL is a postgres:// URL or a key=value connection string. Its password is never printed.
	URL string
	// Topology is the name of the topology; the database knows its incarnation, or makes the first.
	Topology string
	// Operators are checked against what the database remembers of them; their state tables and views
	// are made if they are new.
	Operators []Operator
	// MaxConns bounds the connections; 0 means 8. Fencing uses one more for a moment.
	MaxConns int32
	// Log gets retries and fences; nil means slog.Default().
	Log *slog.Logger
}

// Operator is what must stay the same for an operator's life.
type Operator struct {
	ID runtime.OperatorID
	// Buckets of its exchange and its state; 0 for a spout.
	Buckets int
	// Signature is that of the blocks of its exchange; 0 if it has none.
	Signature uint64
	// Table is its state; nil if it has none. Its Kind must be resolved.
	Table *state.Table
}

func (c *Config) validate() error {
	if c.Topology == "" {
		return errors.New("a store needs the name of its topology")
	}
	for _, o := range c.Operators {
		if o.Table == nil {
			continue
		}
		if err := o.Table.Validate(); err != nil {
			return err
		}
		if o.Table.Kind == "" || o.Table.Kind == state.Auto {
			return fmt.Errorf("the kind of the state of %s is not resolved; the plan has to choose one", o.ID)
		}
		if o.Table.Operator != string(o.ID) {
			return fmt.Errorf("the state table of %s says that it belongs to %q", o.ID, o.Table.Operator)
		}
	}
	return nil
}

// Store is one topology incarnation in one Postgres database. It is safe for concurrent use.
type Store struct {
	pool          *pgxpool.Pool
	log           *slog.Logger
	address, role string // for people
	topology      runtime.TopologyID
	topologyParam []byte
	tables        map[string]*table // by operator
	scratch       sync.Pool
	grace         time.Duration // fenceGrace, but in tests
}

var _ store.Store = (*Store)(nil)

// table is a state table with its statements.
type table struct {
	layout
	fold, write, read string
}

func newTable(l layout) *table {
	return &table{layout: l, fold: l.foldSQL(), write: l.writeSQL(), read: l.readSQL()}
}

// Open connects, brings the schema up, and finds or makes everything of the topology: all of it or
// nothing. Errors: store.ErrUnreachable, ErrNoPermission, ErrNameInUse, ErrChanged, a
// *migrations.NewerError.
func Open(ctx context.Context, config Config) (*Store, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	s, err := connect(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, config); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func connect(ctx context.Context, config Config) (*Store, error) {
	pc, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		return nil, fmt.Errorf("reading the Postgres URL: %w", err) // pgx takes the password out
	}
	cc := pc.ConnConfig
	pc.MaxConns = config.MaxConns
	if pc.MaxConns == 0 {
		pc.MaxConns = 8
	}
	if cc.ConnectTimeout == 0 {
		cc.ConnectTimeout = 10 * time.Second
	}
	if cc.RuntimeParams["application_name"] == "" {
		cc.RuntimeParams["application_name"] = "sr " + config.Topology
	}
	s := &Store{
		log:     config.Log,
		address: fmt.Sprintf("%s:%d/%s", cc.Host, cc.Port, cc.Database),
		role:    cc.User,
		tables:  make(map[string]*table),
		scratch: sync.Pool{New: func() any { return &commitScratch{} }},
		grace:   fenceGrace,
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, pc); err != nil {
		return nil, s.explain("connecting to Postgres", err)
	}
	return s, nil
}

// oldest is the oldest server that sr runs on, as server_version_num.
const oldest = 15_00_00

func (s *Store) prepare(ctx context.Context, config Config) error {
	var version int
	if err := s.pool.QueryRow(ctx, "SELECT current_setting('server_version_num')::integer").Scan(&version); err != nil {
		return s.explain("connecting to Postgres", err)
	}
	if version < oldest {
		return fmt.Errorf("the server at %s is Postgres %d, but sr needs %d or later: upgrade it, or use another",
			s.address, version/10000, oldest/10000)
	}
	if err := migrations.Up(ctx, s.pool); err != nil {
		return s.explain("preparing the schema sr", err)
	}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := s.claim(ctx, tx, config.Topology); err != nil {
			return err
		}
		for _, o := range config.Operators {
			if err := s.register(ctx, tx, config.Topology, o); err != nil {
				return fmt.Errorf("preparing operator %s: %w", o.ID, err)
			}
		}
		return nil
	})
	return s.explain("preparing topology "+config.Topology, err)
}

// Topology is the incarnation whose rows these are.
func (s *Store) Topology() runtime.TopologyID { return s.topology }

// Close ends all connections.
func (s *Store) Close() { s.pool.Close() }

// table finds the statements of a state table.
func (s *Store) table(def *state.Table) (*table, error) {
	t := s.tables[def.Operator]
	if t == nil {
		return nil, fmt.Errorf("operator %s has no state table here; it was not among the operators that the store was opened with", def.Operator)
	}
	return t, nil
}

// exec runs one statement that is a transaction of its own.
func (s *Store) exec(ctx context.Context, doing, sql string, args ...any) (rows int64, err error) {
	tag, err := s.pool.Exec(ctx, sql, args...)
	return tag.RowsAffected(), s.explain(doing, err)
}

// together runs statements as one transaction in one round trip.
func (s *Store) together(ctx context.Context, doing string, b *pgx.Batch) error {
	return s.explain(doing, s.pool.SendBatch(ctx, b).Close())
}
