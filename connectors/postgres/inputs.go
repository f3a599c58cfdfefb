package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/protocol"
)

const insertInput = `
INSERT INTO sr.progress (topology, operator, partition, epoch, txid, position, applied, topic_id, leader_epoch, watermark, idle)
VALUES ($1, $2, $3, $4, $5, $6, $7::text::jsonb, $8, $9, $10, $11) ON CONFLICT DO NOTHING`

// AddInputs inserts rows for inputs that have none, owned by nobody; see store.Inputs.
func (s *Store) AddInputs(ctx context.Context, rows []protocol.Progress) error {
	b := &pgx.Batch{}
	for i := range rows {
		p := &rows[i]
		b.Queue(insertInput, s.topology, p.Input.Operator, p.Input.Partition, p.Epoch, p.TxID, p.Position,
			string(appendApplied(nil, p.Applied)), uuidArg(p.TopicID), p.LeaderEpoch, p.Watermark, p.Idle)
	}
	return s.together(ctx, "adding inputs", b)
}

const (
	// lockAlive holds an unfenced container row against a fence (Moving 1). Its name in assert_count is what
	// explain turns into ErrFenced.
	lockAlive = `
WITH c AS (SELECT FROM sr.container WHERE topology = $1 AND incarnation = $2 AND NOT fenced FOR SHARE)
SELECT sr.assert_count((SELECT count(*) FROM c), 1, 'container')`

	// assign has its locks from a statement before it, as all that change several inputs.
	lockFree = `
SELECT FROM sr.progress p WHERE topology = $1 AND operator = $2 AND ` + free + ` ORDER BY operator, partition FOR UPDATE`

	assign = `
UPDATE sr.progress p SET owner = $3, epoch = epoch + 1, next_owner = NULL, next_ready = false
WHERE topology = $1 AND operator = $2 AND ` + free + ``

	// free rows have no owner, or one that is fenced or unknown (▲ Fencing: after a restore, say).
	free = `NOT EXISTS (
	SELECT FROM sr.container c WHERE c.topology = p.topology AND c.incarnation = p.owner AND NOT c.fenced)`
)

// Assign gives inputs without a living owner to a living container; see store.Inputs.
func (s *Store) Assign(ctx context.Context, c runtime.Incarnation, operator runtime.OperatorID) error {
	b := &pgx.Batch{}
	b.Queue(lockAlive, s.topology, uuidArg(c))
	b.Queue(lockFree, s.topology, operator)
	b.Queue(assign, s.topology, operator, uuidArg(c))
	return s.together(ctx, fmt.Sprintf("assigning the inputs of %s to %s", operator, c), b)
}

const selectInputs = `
SELECT partition, owner, epoch, next_owner, next_ready, txid, position, applied::text, topic_id, leader_epoch, watermark, idle
FROM sr.progress WHERE topology = $1 AND operator = $2 ORDER BY partition`

// Load reads the rows of an operator; see store.Inputs.
func (s *Store) Load(ctx context.Context, operator runtime.OperatorID) ([]protocol.Progress, error) {
	rows, err := s.pool.Query(ctx, selectInputs, s.topology, operator)
	if err != nil {
		return nil, s.explain("reading progress", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p protocol.Progress, err error) {
		var owner, next, topic pgtype.UUID
		var applied []byte
		err = row.Scan(&p.Input.Partition, &owner, &p.Epoch, &next, &p.NextReady, &p.TxID, &p.Position, &applied, &topic,
			&p.LeaderEpoch, &p.Watermark, &p.Idle)
		if err != nil {
			return p, err
		}
		p.Input.Operator = operator
		p.Owner, p.NextOwner, p.TopicID = owner.Bytes, next.Bytes, topic.Bytes
		p.Applied, err = parseApplied(applied)
		return p, err
	})
	return list, s.explain("reading progress of "+string(operator), err)
}

const (
	lockNamed = `
SELECT FROM sr.progress p JOIN unnest($2::text[], $3::integer[]) AS x(operator, partition)
	ON p.operator = x.operator AND p.partition = x.partition
WHERE p.topology = $1 ORDER BY p.operator, p.partition FOR UPDATE OF p`

	raiseEpochs = `
UPDATE sr.progress p SET epoch = epoch + 1 FROM unnest($2::text[], $3::integer[]) AS x(operator, partition)
WHERE p.topology = $1 AND p.operator = x.operator AND p.partition = x.partition AND p.owner = $4`
)

// RaiseEpochs fences the container's own late commits; see store.Inputs. It waits for one that is under
// way in the database.
func (s *Store) RaiseEpochs(ctx context.Context, c runtime.Incarnation, ins []runtime.Input) error {
	operators, partitions := columnsOf(ins)
	b := &pgx.Batch{}
	b.Queue(lockNamed, s.topology, operators, partitions)
	b.Queue(raiseEpochs, s.topology, operators, partitions, uuidArg(c))
	return s.together(ctx, "raising epochs", b)
}

func columnsOf(ins []runtime.Input) (operators []string, partitions []int32) {
	for _, in := range ins {
		operators = append(operators, string(in.Operator))
		partitions = append(partitions, in.Partition)
	}
	return operators, partitions
}

const (
	assertOwned = `
WITH l AS (
	SELECT p.owner, p.epoch, x.epoch AS own FROM sr.progress p
	JOIN unnest($3::text[], $4::integer[], $5::bigint[]) AS x(operator, partition, epoch)
		ON p.operator = x.operator AND p.partition = x.partition
	WHERE p.topology = $1 ORDER BY p.operator, p.partition FOR NO KEY UPDATE OF p
)
SELECT sr.assert_count((SELECT count(*) FROM l WHERE owner = $2 AND epoch = own), $6, 'progress')`

	insertDescriptor = `
INSERT INTO sr.descriptor (topology, operator, partition, txid, from_offset, to_offset, count, topic_id, leader_epoch)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (topology, operator, partition, txid) DO UPDATE SET
	from_offset = excluded.from_offset, to_offset = excluded.to_offset, count = excluded.count,
	topic_id = excluded.topic_id, leader_epoch = excluded.leader_epoch`
)

// Describe inserts descriptors before the blocks of their batch; see store.Inputs.
func (s *Store) Describe(ctx context.Context, c runtime.Incarnation, epochs []runtime.Epoch, ds []protocol.Descriptor) error {
	if len(ds) == 0 {
		return nil
	}
	var ins []runtime.Input
	for i := range ds {
		ins = append(ins, ds[i].Input)
	}
	operators, partitions := columnsOf(ins)
	b := &pgx.Batch{}
	b.Queue(assertOwned, s.topology, uuidArg(c), operators, partitions, epochs, len(ds))
	for i := range ds {
		d := &ds[i]
		b.Queue(insertDescriptor, s.topology, d.Input.Operator, d.Input.Partition, d.TxID, d.From, d.To, d.Count, uuidArg(d.TopicID), d.LeaderEpoch)
	}
	return s.together(ctx, fmt.Sprintf("describing batches of %s", ds[0].Input.Operator), b)
}

const selectDescriptors = `
SELECT partition, txid, from_offset, to_offset, count, topic_id, leader_epoch
FROM sr.descriptor WHERE topology = $1 AND operator = $2 ORDER BY partition, txid`

// Descriptors reads the open descriptors of an operator; see store.Inputs.
func (s *Store) Descriptors(ctx context.Context, operator runtime.OperatorID) ([]protocol.Descriptor, error) {
	rows, err := s.pool.Query(ctx, selectDescriptors, s.topology, operator)
	if err != nil {
		return nil, s.explain("reading descriptors", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d protocol.Descriptor, err error) {
		var topic pgtype.UUID
		err = row.Scan(&d.Input.Partition, &d.TxID, &d.From, &d.To, &d.Count, &topic, &d.LeaderEpoch)
		d.Input.Operator, d.TopicID = operator, topic.Bytes
		return d, err
	})
	return list, s.explain("reading descriptors of "+string(operator), err)
}
