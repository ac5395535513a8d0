-- What every projection keeps in its service's schema beside its own rows.

-- How far a projection has folded one partition. It moves in the transaction that writes the rows, and only by
-- advance_checkpoint.
CREATE TABLE checkpoints (
  projection  text NOT NULL,
  topic       text NOT NULL,
  partition   int NOT NULL,
  -- The offset that is folded next.
  next_offset bigint NOT NULL CHECK (next_offset >= 0),
  -- Raised by every commit, ticks included: what the fence compares.
  version     bigint NOT NULL DEFAULT 0,
  -- Kafka's time of the last record passed; for lag in seconds.
  record_time timestamptz,
  updated_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (projection, topic, partition)
);

-- The fence: the first statement of every commit. Raises NV001 unless the checkpoint is still as it was read, so an owner
-- that lost its partition while it slept writes nothing. A racing owner waits here for the other's commit, then fails.
-- It also says for which partition this transaction writes, which outbox rows take as their own.
CREATE FUNCTION advance_checkpoint(
  of_projection text, of_topic text, of_partition int, read_version bigint, to_offset bigint, to_record_time timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE checkpoints
     SET next_offset = to_offset, version = version + 1, record_time = coalesce(to_record_time, record_time), updated_at = now()
   WHERE projection = of_projection AND topic = of_topic AND partition = of_partition
     AND version = read_version AND next_offset <= to_offset;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'checkpoint of % on %/% has moved', of_projection, of_topic, of_partition USING ERRCODE = 'NV001';
  END IF;
  PERFORM set_config('nextvisit.partition', of_partition::text, true);
END $$;

-- Records that this service could not parse, whole. Passed in the transaction that passes them in the log.
CREATE TABLE dead_letters (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  projection      text NOT NULL,
  topic           text NOT NULL,
  partition       int NOT NULL,
  "offset"        bigint NOT NULL,
  key             bytea,
  value           bytea,
  -- json, not jsonb: it keeps what jsonb refuses, such as U+0000.
  headers         json NOT NULL,
  record_time     timestamptz NOT NULL,
  reason          text NOT NULL,
  service_version text NOT NULL,
  -- dead → retry (an operator) → retried (folded), or back to dead; or discarded (an operator).
  state           text NOT NULL DEFAULT 'dead' CHECK (state IN ('dead', 'retry', 'retried', 'discarded')),
  dead_at         timestamptz NOT NULL DEFAULT now(),
  UNIQUE (projection, topic, partition, "offset")
);
CREATE INDEX dead_letters_to_retry ON dead_letters (partition, "offset") WHERE state = 'retry';

-- What must be published. Written in a commit; drained in sequence order by the partition's owner, at least once.
CREATE TABLE outbox (
  sequence  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Of the record that caused it.
  partition int NOT NULL DEFAULT current_setting('nextvisit.partition')::int,
  topic     text NOT NULL,
  key       text NOT NULL,
  value     text NOT NULL,
  headers   jsonb NOT NULL
);
CREATE INDEX outbox_of_partition ON outbox (partition, sequence);

-- Ids of records whose requests had an Idempotency-Key: a copy less than 24 h younger is dropped.
CREATE TABLE keyed_records (
  record_id uuid PRIMARY KEY,
  partition int NOT NULL,
  received  timestamptz NOT NULL
);
CREATE INDEX keyed_records_by_age ON keyed_records (partition, received);
