-- The health of an endpoint. Every process writes it.
CREATE TABLE endpoints (
  organization  text NOT NULL,
  project       text NOT NULL,
  endpoint_id   text NOT NULL,
  -- As in the catalog: an endpoint that was removed and added again is another one.
  added_at      timestamptz(3) NOT NULL,
  -- By a 410 or five days of failures. The workspace file disables without it.
  disabled_at   timestamptz(3),
  because       text,
  -- The first failed attempt since the last delivery, or since a pause of two days. The last one, to the minute.
  failing_since timestamptz(3),
  failed_at     timestamptz(3),
  delivered_at  timestamptz(3),
  PRIMARY KEY (organization, project, endpoint_id)
);

-- The place of an endpoint in a partition of form-events: of its live stream (replay_id: zeros), and of each replay.
CREATE TABLE positions (
  organization text NOT NULL,
  project      text NOT NULL,
  endpoint_id  text NOT NULL,
  replay_id    uuid NOT NULL,
  partition    int NOT NULL,
  added_at     timestamptz(3) NOT NULL,
  -- The first record that it has not read. Not moved while it is live: the checkpoint is its place.
  next_offset  bigint NOT NULL,
  -- Of replays: where it began, and the end, exclusive.
  begin_offset bigint,
  end_offset   bigint,
  is_live      boolean NOT NULL,
  PRIMARY KEY (organization, project, endpoint_id, replay_id, partition)
);
CREATE INDEX positions_unread ON positions (partition) WHERE end_offset IS NULL OR next_offset < end_offset;
CREATE INDEX positions_behind ON positions (partition)
  WHERE NOT is_live AND (end_offset IS NULL OR next_offset < end_offset);

-- Replays that were asked for. Each partition reads its part from a position.
CREATE TABLE replays (
  replay_id    uuid PRIMARY KEY,
  organization text NOT NULL,
  project      text NOT NULL,
  endpoint_id  text NOT NULL,
  -- The order of the endpoint's replays. Two calls at the same time do not take the same number, so the second sees the first.
  number       int NOT NULL,
  from_at      timestamptz(3) NOT NULL,
  -- Exclusive.
  to_at        timestamptz(3) NOT NULL,
  -- Absent: the events of the endpoint.
  events       jsonb,
  requested_at timestamptz(3) NOT NULL,
  -- The partitions that have not begun it yet.
  unplaced     bigint[] NOT NULL
);
CREATE UNIQUE INDEX replays_of_endpoint ON replays (organization, project, endpoint_id, number);
-- Ticks look each second for replays that they must begin, and for old ones.
CREATE INDEX replays_unplaced ON replays (replay_id) WHERE unplaced <> '{}';
CREATE INDEX replays_by_age ON replays (requested_at);

-- Requests to be sent, and that were sent.
CREATE TABLE deliveries (
  delivery_id   uuid PRIMARY KEY,
  organization  text NOT NULL,
  project       text NOT NULL,
  endpoint_id   text NOT NULL,
  replay_id     uuid NOT NULL,
  partition     int NOT NULL,
  -- The place of the record: the order of deliveries of a user.
  source_offset bigint NOT NULL,
  -- As in the record. Absent: the record has none.
  cause_offset  bigint,
  user_id       uuid NOT NULL,
  -- The id of the record.
  webhook_id    uuid NOT NULL,
  type          text NOT NULL,
  -- Time of the record.
  at            timestamptz(3) NOT NULL,
  -- The bytes to send. While `capture` is not empty, members are missing.
  body          text NOT NULL,
  -- What the body still lacks: traits, answers.
  capture       text[] NOT NULL,
  -- Of the record, if its trace is sampled.
  traceparent   text,
  status        text NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts      int NOT NULL,
  -- Attempts since the delivery was created or retried.
  round         int NOT NULL,
  created_at    timestamptz(3) NOT NULL,
  -- When it was created, or when an operator sent it again after its end.
  pending_since timestamptz(3) NOT NULL,
  ended_at      timestamptz(3)
);
ALTER TABLE deliveries ALTER COLUMN body SET STATISTICS 0;
CREATE INDEX deliveries_pending ON deliveries (organization, project, endpoint_id, replay_id, user_id, source_offset)
  WHERE status = 'pending';
CREATE INDEX deliveries_oldest_pending ON deliveries (organization, project, endpoint_id, pending_since)
  WHERE status = 'pending';
-- Tests of a day.
CREATE INDEX deliveries_tests ON deliveries (organization, project, endpoint_id, created_at) WHERE type = 'webhook.test';
-- Lists and counts of a status.
CREATE INDEX deliveries_of_endpoint ON deliveries (organization, project, endpoint_id, status, created_at, delivery_id);
-- Counts of replays. Deliveries of live streams are not in it.
CREATE INDEX deliveries_of_replay ON deliveries (replay_id, status)
  WHERE replay_id <> '00000000-0000-0000-0000-000000000000';
CREATE INDEX deliveries_of_user ON deliveries (organization, project, user_id, created_at, delivery_id);
CREATE INDEX deliveries_ended ON deliveries (partition, ended_at) WHERE ended_at IS NOT NULL;

-- The users with a pending delivery to an endpoint. Only the first one is attempted.
CREATE TABLE turns (
  organization text NOT NULL,
  project      text NOT NULL,
  endpoint_id  text NOT NULL,
  replay_id    uuid NOT NULL,
  user_id      uuid NOT NULL,
  partition    int NOT NULL,
  -- When the next attempt is due.
  next_at      timestamptz(3) NOT NULL,
  -- The user first: erasures and exports read by it.
  PRIMARY KEY (organization, project, user_id, endpoint_id, replay_id)
);
CREATE INDEX turns_due ON turns (partition, organization, project, endpoint_id, replay_id, next_at);

-- Finished attempts.
CREATE TABLE attempts (
  delivery_id uuid NOT NULL,
  number      int NOT NULL,
  at          timestamptz(3) NOT NULL,
  duration_ms int NOT NULL,
  outcome     text NOT NULL,
  http_status int,
  error       text,
  -- The first 4 KB of the response.
  response    text,
  PRIMARY KEY (delivery_id, number)
);
ALTER TABLE attempts ALTER COLUMN response SET STATISTICS 0, ALTER COLUMN error SET STATISTICS 0;
