-- The tables and functions that every projection has in its service's schema, beside the service's own.

-- How far a projection has folded one partition. A checkpoint moves in the transaction that writes the rows, and only
-- through advance_checkpoint.
CREATE TABLE checkpoints (
  projection  text NOT NULL,
  topic       text NOT NULL,
  partition   int NOT NULL,
  -- The offset that is folded next.
  next_offset bigint NOT NULL CHECK (next_offset >= 0),
  -- Every commit raises it, ticks included. The fence compares it.
  version     bigint NOT NULL DEFAULT 0,
  -- Kafka's time of the last record that was passed; the lag in seconds comes from it.
  record_time timestamptz,
  -- Over how many partitions the keys of the topic were spread when the checkpoint was created. It can never change.
  key_partitions int CHECK (key_partitions > 0),
  updated_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (projection, topic, partition)
);

-- The fence: the first statement of every commit calls it for each partition that the commit writes for. It raises NV001
-- unless the checkpoint is still as it was read. So an owner that lost its partition without noticing writes nothing. Of
-- two owners that race, the second waits here for the first one's commit, then fails.
--
-- It runs for each partition of each commit, and to plan the update for twelve partitions takes longer than the updates. So it
-- keeps its plan, which services' other statements do not. The plan looks up by key: of few rows there may be many dead
-- versions, while somebody holds a snapshot.
CREATE FUNCTION advance_checkpoint(
  of_projection text, of_topic text, of_partition int, read_version bigint, to_offset bigint, to_record_time timestamptz
) RETURNS void LANGUAGE plpgsql SET plan_cache_mode = auto SET enable_seqscan = off AS $$
BEGIN
  UPDATE checkpoints
     SET next_offset = to_offset, version = version + 1, record_time = coalesce(to_record_time, record_time), updated_at = now()
   WHERE projection = of_projection AND topic = of_topic AND partition = of_partition
     AND version = read_version AND next_offset <= to_offset;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'checkpoint of % on %/% has moved', of_projection, of_topic, of_partition USING ERRCODE = 'NV001';
  END IF;
END $$;

-- Records that this service could not parse, or that an operator has set aside, stored whole. A letter is written in the transaction that moves the
-- checkpoint past its record, and is never deleted.
CREATE TABLE dead_letters (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  projection      text NOT NULL,
  topic           text NOT NULL,
  partition       int NOT NULL,
  "offset"        bigint NOT NULL,
  key             bytea,
  value           bytea,
  -- json, not jsonb: jsonb refuses some text, such as U+0000.
  headers         json NOT NULL,
  record_time     timestamptz NOT NULL,
  reason          text NOT NULL,
  service_version text NOT NULL,
  -- dead → retry (an operator) → retried (folded), or back to dead; or discarded (an operator).
  state           text NOT NULL DEFAULT 'dead' CHECK (state IN ('dead', 'retry', 'retried', 'discarded')),
  dead_at         timestamptz NOT NULL DEFAULT now(),
  -- Who last asked for a retry or discarded the letter, and when.
  decided_by      text,
  decided_at      timestamptz,
  UNIQUE (projection, topic, partition, "offset")
);
-- ANALYZE would copy bytes of the records, and reasons that quote them, into pg_stats.
ALTER TABLE dead_letters
  ALTER COLUMN key SET STATISTICS 0,
  ALTER COLUMN value SET STATISTICS 0,
  ALTER COLUMN headers SET STATISTICS 0,
  ALTER COLUMN reason SET STATISTICS 0;
CREATE INDEX dead_letters_to_retry ON dead_letters (partition, "offset") WHERE state = 'retry';
-- Dead letters without a final decision, by cause.
CREATE INDEX dead_letters_open ON dead_letters (projection, hashtextextended(reason, 0), id) WHERE state IN ('dead', 'retry');
-- The same of all causes, a page at a time.
CREATE INDEX dead_letters_open_by_id ON dead_letters (projection, id) WHERE state IN ('dead', 'retry');
-- The dead letters of a person. A hash, because a key may be longer than an entry of another index.
CREATE INDEX dead_letters_of_key ON dead_letters USING hash (key);
-- The dead letters of a decision, and the latest decisions.
CREATE INDEX dead_letters_decided ON dead_letters (decided_at, id) WHERE decided_at IS NOT NULL;

-- Partitions that stand still, and why: for `nextvisit status`. The process that owns the partition writes them. An alarm
-- counts only while its "offset" is not below the checkpoint, so the commit that passes the offset ends it.
CREATE TABLE partition_alarms (
  projection   text NOT NULL,
  topic        text NOT NULL,
  partition    int NOT NULL,
  -- halted: no attempt helps (a fold throws, or this is another log). stalled: attempts fail or hang. ticks: they fail.
  kind         text NOT NULL CHECK (kind IN ('halted', 'stalled', 'ticks')),
  -- What is folded next; for a fold that throws, the record that it throws for.
  "offset"     bigint NOT NULL,
  -- Of the record that the fold throws for, `none` if it has no id. Only such a record can be set aside.
  record_id    text,
  code         text NOT NULL,
  message      text NOT NULL,
  since        timestamptz NOT NULL DEFAULT now(),
  last_at      timestamptz NOT NULL DEFAULT now(),
  -- An operator wants the record at "offset" to become a dead letter: who, and when.
  set_aside_by text,
  set_aside_at timestamptz,
  PRIMARY KEY (projection, topic, partition, kind)
);
-- It may quote the record.
ALTER TABLE partition_alarms ALTER COLUMN message SET STATISTICS 0;

-- Records that must be published. Written in a commit; the partition's owner publishes them in sequence order, at least
-- once.
CREATE TABLE outbox (
  sequence  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Of the record that caused it.
  partition int NOT NULL,
  topic     text NOT NULL,
  key       text NOT NULL,
  value     text NOT NULL,
  headers   jsonb NOT NULL,
  queued_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE outbox
  ALTER COLUMN key SET STATISTICS 0,
  ALTER COLUMN value SET STATISTICS 0,
  ALTER COLUMN headers SET STATISTICS 0;
CREATE INDEX outbox_of_partition ON outbox (partition, sequence);

-- Ids of records whose requests had an Idempotency-Key. A duplicate that was received less than 24 h later is dropped.
CREATE TABLE idempotent_records (
  record_id uuid PRIMARY KEY,
  partition int NOT NULL,
  received  timestamptz NOT NULL
);
-- Imported records are never pruned: received is infinity.
CREATE INDEX idempotent_records_by_age ON idempotent_records (partition, received) WHERE received < 'infinity';

-- The fences of erased users (docs/decisions/0018): the latest of each user. The commit that folds the erasure writes it. userIds
-- come first in the key, because commits look up the users of their records.
CREATE TABLE erased_users (
  organization text NOT NULL,
  project      text NOT NULL,
  user_id      uuid NOT NULL,
  partition    int NOT NULL,
  -- Of the record that erased the user: UserErased, or QueueErased on form-events. Earlier records of the user are fenced,
  "offset"     bigint NOT NULL,
  -- on form-events also repeats of what user-events had caused before this offset,
  cause_offset bigint,
  -- and so are records that were sealed with a key which is not later than this.
  keys_until   timestamptz(3) NOT NULL,
  erasure_id   uuid NOT NULL,
  -- How many rows of the user the commit has deleted.
  rows         bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, organization, project)
);
-- A process reads the erased users of a partition when it reads the checkpoint.
CREATE INDEX erased_users_of_partition ON erased_users (partition);

-- Data keys of users, wrapped by NEXTVISIT_SECRET_KEY: the values of user-keys, of consumers that open sealed records. The
-- checkpoint of the projection on user-keys says how far. A destroyed key has no row.
CREATE TABLE user_keys (
  user_id   uuid NOT NULL,
  key_id    uuid NOT NULL,
  wrapped   text NOT NULL,
  -- Of user-events and user-keys.
  partition int NOT NULL,
  PRIMARY KEY (user_id, key_id)
);
ALTER TABLE user_keys ALTER COLUMN wrapped SET STATISTICS 0;
