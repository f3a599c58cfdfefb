-- Why: Postgres decides. These rows are the only truth about what a topology has done, who owns
-- what, and which blocks of an exchange count. Every key starts with topology, the id of one
-- incarnation, so that an older life's rows are never taken for this one's. No key is a sequence: after
-- a restore to an earlier time a sequence hands out numbers that were used before.

-- One row an incarnation of a topology. A name has one incarnation at a time.
CREATE TABLE sr.topology (
    topology text COLLATE "C" PRIMARY KEY,
    name     text COLLATE "C" NOT NULL UNIQUE,
    created  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- What an operator was when it first ran. Its buckets, keys, columns and kind never change, because the
-- rows of state_table and the blocks of its exchange were made for them.
CREATE TABLE sr.operator (
    topology    text COLLATE "C" NOT NULL REFERENCES sr.topology ON DELETE CASCADE,
    operator    text COLLATE "C" NOT NULL,
    identity    jsonb NOT NULL,
    state_table text COLLATE "C" UNIQUE, -- in schema sr_state; null for an operator without state
    state_view  text COLLATE "C" UNIQUE, -- in schema public; null for a state without a view
    PRIMARY KEY (topology, operator)
);

-- One row a life of a container (a worker process). Leases run by this server's clock.
CREATE TABLE sr.container (
    topology    text COLLATE "C" NOT NULL REFERENCES sr.topology ON DELETE CASCADE,
    incarnation uuid NOT NULL,
    container   text NOT NULL, -- for people: host and process
    renewed     bigint NOT NULL DEFAULT 0,
    lease_until timestamptz NOT NULL,
    fenced      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (topology, incarnation)
) WITH (fillfactor = 50);

-- One row a life of an instance as a producer of blocks: the commit point of its blocks.
CREATE TABLE sr.writer (
    topology      text COLLATE "C" NOT NULL REFERENCES sr.topology ON DELETE CASCADE,
    writer        uuid NOT NULL,
    stage         text COLLATE "C" NOT NULL,
    container     uuid NOT NULL,
    committed_seq bigint NOT NULL DEFAULT 0,
    closed        boolean NOT NULL DEFAULT false,
    closed_at     timestamptz,
    close_offsets jsonb, -- [{"operator", "partition", "offset"}], listed after the close committed
    PRIMARY KEY (topology, writer)
) WITH (fillfactor = 20);

-- One row a source partition or bucket. Rewritten by every commit, so that a page keeps room for many
-- versions of its few rows, and every update stays on its page (HOT).
CREATE TABLE sr.progress (
    topology     text COLLATE "C" NOT NULL REFERENCES sr.topology ON DELETE CASCADE,
    operator     text COLLATE "C" NOT NULL,
    partition    integer NOT NULL,
    owner        uuid, -- a container incarnation
    epoch        bigint NOT NULL DEFAULT 0,
    next_owner   uuid,
    next_ready   boolean NOT NULL DEFAULT false,
    txid         bigint NOT NULL DEFAULT 0,
    position     bigint NOT NULL,
    applied      jsonb NOT NULL DEFAULT '{}', -- {writer: last seq applied}
    topic_id     uuid,
    leader_epoch integer NOT NULL DEFAULT 0,
    watermark    bigint NOT NULL DEFAULT 0, -- milliseconds since 1970
    idle         boolean NOT NULL DEFAULT false,
    committed_at timestamptz,
    PRIMARY KEY (topology, operator, partition)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- What a batch of a transactional spout holds, committed before its first block is produced.
CREATE TABLE sr.descriptor (
    topology     text COLLATE "C" NOT NULL,
    operator     text COLLATE "C" NOT NULL,
    partition    integer NOT NULL,
    txid         bigint NOT NULL,
    from_offset  bigint NOT NULL,
    to_offset    bigint NOT NULL,
    count        bigint NOT NULL,
    topic_id     uuid,
    leader_epoch integer NOT NULL,
    PRIMARY KEY (topology, operator, partition, txid),
    FOREIGN KEY (topology, operator, partition) REFERENCES sr.progress ON DELETE CASCADE
);

-- What could not be processed. input_operator, input_partition and txid are the batch whose commit wrote
-- the letter, n its number within that batch.
CREATE TABLE sr.dead_letter (
    topology        text COLLATE "C" NOT NULL REFERENCES sr.topology ON DELETE CASCADE,
    input_operator  text COLLATE "C" NOT NULL,
    input_partition integer NOT NULL,
    txid            bigint NOT NULL,
    n               integer NOT NULL,
    operator        text COLLATE "C" NOT NULL, -- that failed
    topic           text,
    partition       integer, -- of the record; null where an entry of a fold has none
    "offset"        bigint,
    attempts        integer NOT NULL,
    error           text NOT NULL,
    key             bytea,
    payload         bytea,
    record_time     timestamptz,
    written         timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (topology, input_operator, input_partition, txid, n)
);

-- The rows of every operator's state: one table an operator, made when it first runs.
CREATE SCHEMA sr_state;
