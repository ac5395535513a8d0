-- What the rules know about a user. All facts of a user are in one partition, so there is one writer.
CREATE TABLE users (
  organization        text NOT NULL,
  project             text NOT NULL,
  user_id             uuid NOT NULL,
  -- json, not jsonb: it is kept as it was written. Lists of numbers take four times the room as jsonb, and 100 ms to write.
  traits              json NOT NULL,
  -- What the traits count together against the limit of a user (docs/spec/decisions.md, Identify).
  trait_bytes         integer NOT NULL,
  device              jsonb NOT NULL,
  -- Null for a user whose events were admitted unchecked.
  first_seen_at       timestamptz(3),
  session_started_at  timestamptz(3),
  last_sdk_contact_at timestamptz(3),
  PRIMARY KEY (organization, project, user_id)
);
-- ANALYZE would copy values of people into pg_stats. No plan needs them: rows are found by key.
ALTER TABLE users ALTER COLUMN traits SET STATISTICS 0, ALTER COLUMN device SET STATISTICS 0;

-- How often a user had an event, and when. With a # in it, a slug is of the events with such properties, by the hash of the condition
-- (docs/spec/forms.md, Property counts).
CREATE TABLE event_occurrences (
  organization       text NOT NULL,
  project            text NOT NULL,
  user_id            uuid NOT NULL,
  slug               text NOT NULL,
  total              bigint NOT NULL,
  -- occurredAt of the 51 latest, ascending, in ms since the epoch. Numbers, because parsing them is cheap.
  latest_ms          bigint[] NOT NULL,
  -- session_count is the number of SDK events in the session that began at session_started_at. It counts for the
  -- user's current session only if users.session_started_at is the same instant.
  session_started_at timestamptz(3),
  session_count      integer NOT NULL,
  -- occurredAt and received of the last occurrence that triggered no form, because of its age or because it was imported.
  missed_at          timestamptz(3),
  missed_received_at timestamptz(3),
  PRIMARY KEY (organization, project, user_id, slug)
);

-- The answers of a user to a form that conditions see (docs/spec/forms.md, Conditions on answers). At most 1,000 forms, 100 of them with
-- answers.
CREATE TABLE form_answers (
  organization   text NOT NULL,
  project        text NOT NULL,
  user_id        uuid NOT NULL,
  form_id        text NOT NULL,
  -- The offer that was finished last, or, while none was, begun last, according to the caller; and the state of its answers.
  offer_id       uuid NOT NULL,
  status         text NOT NULL CHECK (status IN ('partial', 'finished', 'dismissed')),
  kept_since     timestamptz(3) NOT NULL,
  ended_at       timestamptz(3),
  -- By element. Of texts of the user only that they were given: null.
  answers        json NOT NULL,
  -- At most 20 other offers with an answer, the latest last: by id, whether it has ended.
  other_offers   json NOT NULL,
  PRIMARY KEY (organization, project, user_id, form_id)
);
ALTER TABLE form_answers ALTER COLUMN answers SET STATISTICS 0;

-- Forms that were queued for a user's next visit, and their state.
CREATE TABLE queue (
  organization     text NOT NULL,
  project          text NOT NULL,
  user_id          uuid NOT NULL,
  -- UUIDv5 of record id, received and form id: a record that is processed twice cannot queue a form twice.
  id               uuid NOT NULL,
  form_id          text NOT NULL,
  -- The environment of the cause's key.
  environment      text NOT NULL CHECK (environment IN ('P', 'T')),
  state            text NOT NULL CHECK (state IN ('waiting', 'offered', 'answered', 'delivered', 'expired', 'cancelled')),
  priority         bigint NOT NULL,
  queued_at        timestamptz(3) NOT NULL,
  show_from        timestamptz(3) NOT NULL,
  expires_at       timestamptz(3),
  offered_at       timestamptz(3),
  shown_at         timestamptz(3),
  -- The visit at which it was shown.
  visit_id         uuid,
  -- The answers to the form: when the first one with an element and the one that ended the form were received.
  started_at       timestamptz(3),
  ended_at         timestamptz(3),
  answer_status    text CHECK (answer_status IN ('partial', 'finished', 'dismissed')),
  -- The record that matched a trigger, and the revision of the organization's configuration at that moment.
  cause_id         uuid NOT NULL,
  -- The offset of that record in the partition: an erasure deletes rows that earlier records queued.
  cause_offset     bigint,
  catalog_revision integer NOT NULL,
  -- The user's partition of user-events. Its owner's ticks change this row.
  partition        integer NOT NULL,
  PRIMARY KEY (organization, project, user_id, id)
);

-- At most one open row for each user and form.
CREATE UNIQUE INDEX queue_slot ON queue (organization, project, user_id, form_id) WHERE state IN ('waiting', 'offered');
-- The rows that ticks look for.
CREATE INDEX queue_offered ON queue (partition, offered_at) WHERE state = 'offered';
CREATE INDEX queue_expiring ON queue (partition, expires_at) WHERE state = 'waiting' AND expires_at IS NOT NULL;
-- The forms that have open rows, and whom one of them waits for, the oldest first.
CREATE INDEX queue_open ON queue (partition, organization, project, form_id, queued_at, id)
  WHERE state IN ('waiting', 'offered');

-- The rows that a record queued, if it is processed again.
CREATE INDEX queue_cause ON queue (cause_id);

-- How often a form was shown to a user, and when last: what frequency and cooldown count from. The delivered rows of the
-- queue, counted: there may be many of them.
CREATE TABLE shown_forms (
  organization text NOT NULL,
  project      text NOT NULL,
  user_id      uuid NOT NULL,
  form_id      text NOT NULL,
  times        bigint NOT NULL,
  last_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organization, project, user_id, form_id)
);

-- Why a form was or was not queued for a user: the last decision for each user and form.
CREATE TABLE decisions (
  organization     text NOT NULL,
  project          text NOT NULL,
  user_id          uuid NOT NULL,
  form_id          text NOT NULL,
  -- 'queued', or the gate that failed.
  outcome          text NOT NULL,
  record_id        uuid NOT NULL,
  decided_at       timestamptz(3) NOT NULL,
  catalog_revision integer NOT NULL,
  -- The trigger that matched, as the workspace file has it.
  trigger          jsonb,
  -- What each gate compared, up to the gate that failed (contracts, form-decisions.ts).
  gates            jsonb NOT NULL DEFAULT '[]',
  PRIMARY KEY (organization, project, user_id, form_id)
);
ALTER TABLE decisions ALTER COLUMN gates SET STATISTICS 0;

-- The evaluator's reply to a record whose request had an Idempotency-Key. A duplicate of the record gets the same reply.
CREATE TABLE idempotent_outcomes (
  record_id uuid PRIMARY KEY,
  user_id   uuid NOT NULL,
  partition int NOT NULL,
  received  timestamptz(3) NOT NULL,
  reply     jsonb NOT NULL
);
ALTER TABLE idempotent_outcomes ALTER COLUMN reply SET STATISTICS 0;
CREATE INDEX idempotent_outcomes_of_user ON idempotent_outcomes (user_id);
CREATE INDEX idempotent_outcomes_by_age ON idempotent_outcomes (partition, received);
