package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/store"
)

const (
	insertTopology = `INSERT INTO sr.topology (topology, name) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`
	// lockTopology lets concurrent Opens of one topology take turns.
	lockTopology = `SELECT topology FROM sr.topology WHERE name = $1 FOR UPDATE`
)

// claim finds the incarnation of the topology, or makes it.
func (s *Store) claim(ctx context.Context, tx pgx.Tx, name string) error {
	err := tx.QueryRow(ctx, lockTopology, name).Scan(&s.topology)
	if errors.Is(err, pgx.ErrNoRows) {
		if _, err := tx.Exec(ctx, insertTopology, runtime.NewTopologyID(name), name); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, lockTopology, name).Scan(&s.topology)
	}
	s.topologyParam = []byte(s.topology)
	return err
}

// identity is what an operator was when it first ran, as the database remembers it.
type identity struct {
	Buckets   int      `json:"buckets"`
	Signature string   `json:"signature,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	Keys      []string `json:"keys,omitempty"`
	Values    []string `json:"values,omitempty"`
	View      string   `json:"view,omitempty"`
}

func identityOf(o Operator) identity {
	id := identity{Buckets: o.Buckets}
	if o.Signature != 0 {
		id.Signature = fmt.Sprintf("%016x", o.Signature)
	}
	if o.Table == nil {
		return id
	}
	id.Kind, id.View = string(o.Table.Kind), o.Table.View
	for _, k := range o.Table.Keys {
		id.Keys = append(id.Keys, fmt.Sprintf("%s %s", k.Name, k.Type))
	}
	for _, v := range o.Table.Values {
		id.Values = append(id.Values, fmt.Sprintf("%s %s %s", v.Name, v.Fold, v.Type))
	}
	return id
}

const (
	selectOperator = `SELECT identity::text FROM sr.operator WHERE topology = $1 AND operator = $2`
	insertOperator = `INSERT INTO sr.operator (topology, operator, identity, state_table, state_view)
		VALUES ($1, $2, $3::text::jsonb, $4, $5)`
)

// register checks an operator against what is remembered, or remembers it and makes its table and view.
func (s *Store) register(ctx context.Context, tx pgx.Tx, topology string, o Operator) error {
	now, err := json.Marshal(identityOf(o))
	if err != nil {
		return err
	}
	if o.Table != nil {
		s.tables[o.Table.Operator] = newTable(newLayout(tableName(topology, o.ID), o.Table))
	}
	var text string
	err = tx.QueryRow(ctx, selectOperator, s.topology, o.ID).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return s.create(ctx, tx, topology, o, now)
	}
	if err != nil {
		return err
	}
	var stored identity
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		return fmt.Errorf("reading its stored identity: %w", err)
	}
	if then, err := json.Marshal(stored); err != nil || !bytes.Equal(then, now) {
		return fmt.Errorf("%w: it ran as %s, but now is %s; give the changed operator a new name, or purge the topology",
			store.ErrChanged, then, now)
	}
	return nil
}

func (s *Store) create(ctx context.Context, tx pgx.Tx, topology string, o Operator, identity []byte) error {
	var table, view *string
	if o.Table != nil {
		name := tableName(topology, o.ID)
		table = &name
		if o.Table.View != "" {
			view = &o.Table.View
		}
	}
	if err := s.vacant(ctx, tx, stateSchema, table); err != nil {
		return err
	}
	if err := s.vacant(ctx, tx, viewSchema, view); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, insertOperator, s.topology, o.ID, string(identity), table, view); err != nil {
		return nameTaken(err)
	}
	if table == nil {
		return nil
	}
	t := s.tables[o.Table.Operator]
	if _, err := tx.Exec(ctx, t.createTable()); err != nil {
		return nameTaken(fmt.Errorf("creating the table %s: %w", t.name, err))
	}
	if view == nil {
		return nil
	}
	_, err := tx.Exec(ctx, t.createView())
	return nameTaken(err)
}

// whoHas tells what has a name: a relation and, if it is one of ours, whose.
const whoHas = `
SELECT CASE c.relkind WHEN 'v' THEN 'a view' WHEN 'm' THEN 'a materialized view' WHEN 'i' THEN 'an index'
		WHEN 'S' THEN 'a sequence' ELSE 'a table' END,
	coalesce('operator ' || o.operator || ' of topology ' || o.topology, 'somebody else')
FROM pg_class c
LEFT JOIN sr.operator o ON $2 IN (o.state_view, o.state_table)
WHERE c.relnamespace = to_regnamespace($1) AND c.relname = $2`

// vacant refuses a name that something has already.
func (s *Store) vacant(ctx context.Context, tx pgx.Tx, schema string, name *string) error {
	if name == nil {
		return nil
	}
	var what, whose string
	err := tx.QueryRow(ctx, whoHas, schema, *name).Scan(&what, &whose)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s.%s is %s of %s; choose another name, or drop it if nobody needs it", store.ErrNameInUse, schema, *name, what, whose)
}

// nameTaken recognises names that somebody took between the check and the use.
func nameTaken(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == stateTable || pg.Code == "23505") {
		return fmt.Errorf("%w: %s", store.ErrNameInUse, pg.Message)
	}
	return err
}
