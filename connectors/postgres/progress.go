package postgres

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/selfregulating/sr/runtime"
	"github.com/selfregulating/sr/runtime/mutant"
	"github.com/selfregulating/sr/runtime/protocol"
)

// moveProgress asserts and moves all inputs of a commit (Writing 3, Receiving 6, Moving 3) and answers
// the writers that were pruned from what was applied (Receiving 7).
//
// l takes the locks in the order of the inputs. An update that had to wait for one sees the newest
// version of the row and is checked against that. Who owns it: invariant 3.
const moveProgress = `
WITH x AS (
	SELECT * FROM unnest($3::text[], $4::integer[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[],
		$9::uuid[], $10::integer[], $11::bigint[], $12::boolean[], $13::uuid[])
	AS x(operator, partition, epoch, txid, position, applied, topic_id, leader_epoch, watermark, idle, give_to)
), known AS MATERIALIZED (
	SELECT writer FROM sr.writer WHERE topology = $1
), l AS MATERIALIZED (
	SELECT p.operator, p.partition FROM sr.progress p JOIN x ON p.operator = x.operator AND p.partition = x.partition
	WHERE p.topology = $1 ORDER BY p.operator, p.partition FOR UPDATE OF p
), u AS (
	UPDATE sr.progress p SET
		txid = x.txid, position = x.position, topic_id = x.topic_id, leader_epoch = x.leader_epoch,
		watermark = x.watermark, idle = x.idle, committed_at = clock_timestamp(),
		applied = CASE WHEN x.applied IS NULL THEN p.applied ELSE (
			SELECT coalesce(jsonb_object_agg(a.key, a.value), '{}') FROM jsonb_each(x.applied::jsonb) a
			WHERE a.key::uuid IN (SELECT writer FROM known)) END,
		owner = coalesce(x.give_to, p.owner),
		epoch = p.epoch + (x.give_to IS NOT NULL)::integer,
		next_owner = CASE WHEN x.give_to IS NULL THEN p.next_owner END,
		next_ready = p.next_ready AND x.give_to IS NULL
	FROM x JOIN l ON l.operator = x.operator AND l.partition = x.partition
	WHERE p.topology = $1 AND p.operator = x.operator AND p.partition = x.partition
		AND p.txid = x.txid - 1 AND p.owner = $2 AND p.epoch = x.epoch
		AND (x.give_to IS NULL OR p.next_owner = x.give_to)
	RETURNING 1
)
SELECT sr.assert_count((SELECT count(*) FROM u), $14, 'progress'),
	ARRAY(SELECT DISTINCT a.key::uuid FROM x, jsonb_each(x.applied::jsonb) a WHERE a.key::uuid NOT IN (SELECT writer FROM known))`

// ownerCheck is the part of moveProgress that fences.
const ownerCheck = "AND p.owner = $2 AND p.epoch = x.epoch"

func moveProgressSQL() string {
	if mutant.On("noOwnerEpochCheck") {
		return strings.Replace(moveProgress, ownerCheck, "AND $2::uuid IS NOT NULL", 1)
	}
	return moveProgress
}

// moveArrays are the parameters of moveProgress that have one value for each input.
type moveArrays struct {
	operator, partition, epoch, txid, position, applied array
	topicID, leaderEpoch, watermark, idle, giveTo       array
	json                                                []byte
}

func (a *moveArrays) fill(moves []protocol.Move) {
	a.operator.reset(pgtype.TextOID)
	a.partition.reset(pgtype.Int4OID)
	a.epoch.reset(pgtype.Int8OID)
	a.txid.reset(pgtype.Int8OID)
	a.position.reset(pgtype.Int8OID)
	a.applied.reset(pgtype.TextOID)
	a.topicID.reset(pgtype.UUIDOID)
	a.leaderEpoch.reset(pgtype.Int4OID)
	a.watermark.reset(pgtype.Int8OID)
	a.idle.reset(pgtype.BoolOID)
	a.giveTo.reset(pgtype.UUIDOID)
	for i := range moves {
		a.add(&moves[i])
	}
}

func (a *moveArrays) add(m *protocol.Move) {
	a.operator.text(string(m.Input.Operator))
	a.partition.int4(m.Input.Partition)
	a.epoch.int8(int64(m.Epoch))
	a.txid.int8(int64(m.TxID))
	a.position.int8(m.Position)
	if m.Applied == nil {
		a.applied.null()
	} else {
		a.json = appendApplied(a.json[:0], m.Applied)
		a.applied.bytes(a.json)
	}
	a.topicID.uuid(m.TopicID)
	a.leaderEpoch.int4(m.LeaderEpoch)
	a.watermark.int8(m.Watermark)
	a.idle.bool(m.Idle)
	a.giveTo.uuid(m.GiveTo)
}

func (a *moveArrays) statement(topology []byte, c *protocol.Commit) statement {
	a.fill(c.Moves)
	return statement{sql: moveProgressSQL(), gone: true, params: [][]byte{
		topology, c.Container[:], a.operator.param(), a.partition.param(), a.epoch.param(), a.txid.param(), a.position.param(),
		a.applied.param(), a.topicID.param(), a.leaderEpoch.param(), a.watermark.param(), a.idle.param(), a.giveTo.param(),
		int8Param(int64(len(c.Moves))),
	}}
}

// deleteDescriptors ends those of the batches committed, and leftovers below them.
const deleteDescriptors = `
DELETE FROM sr.descriptor d USING unnest($2::text[], $3::integer[], $4::bigint[]) AS x(operator, partition, txid)
WHERE d.topology = $1 AND d.operator = x.operator AND d.partition = x.partition AND d.txid <= x.txid`

// descriptorStatement uses the arrays that statement has filled.
func (a *moveArrays) descriptorStatement(topology []byte) statement {
	return statement{sql: deleteDescriptors, params: [][]byte{topology, a.operator.param(), a.partition.param(), a.txid.param()}}
}

func readsSource(moves []protocol.Move) bool {
	return slices.ContainsFunc(moves, func(m protocol.Move) bool { return m.Applied == nil })
}

// appendApplied writes {"writer": seq, …}.
func appendApplied(dst []byte, applied protocol.Applied) []byte {
	dst = append(dst, '{')
	for i, a := range applied {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, a.Writer.String()...)
		dst = append(dst, '"', ':')
		dst = strconv.AppendInt(dst, int64(a.Seq), 10)
	}
	return append(dst, '}')
}

// parseApplied reads what appendApplied wrote, ordered by writer.
func parseApplied(text []byte) (protocol.Applied, error) {
	var named map[string]runtime.Seq
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, err
	}
	var applied protocol.Applied
	for name, seq := range named {
		var id pgtype.UUID
		if err := id.Scan(name); err != nil {
			return nil, err
		}
		applied = append(applied, protocol.WriterSeq{Writer: id.Bytes, Seq: seq})
	}
	slices.SortFunc(applied, func(a, b protocol.WriterSeq) int { return bytes.Compare(a.Writer[:], b.Writer[:]) })
	return applied, nil
}
