-- What the rules know of a user. All facts of a user share a partition: one writer.
CREATE TABLE users (
  organization        text NOT NULL,
  project             text NOT NULL,
  user_id             uuid NOT NULL,
  traits              jsonb NOT NULL,
  device              jsonb NOT NULL,
  -- Absent for a user whose events came through unchecked.
  first_seen_at       timestamptz(3),
  session_started_at  timestamptz(3),
  last_sdk_contact_at timestamptz(3),
  PRIMARY KEY (organization, project, user_id)
);

-- How often an event happened to a user, and when.
CREATE TABLE event_occurrences (
  organization       text NOT NULL,
  project            text NOT NULL,
  user_id            uuid NOT NULL,
  slug               text NOT NULL,
  total              bigint NOT NULL,
  -- occurredAt of the 50 latest, ascending, in ms since the epoch: read by the million, and cheap to.
  latest_ms          bigint[] NOT NULL,
  -- SDK events in the session that began then: of the user's present session only where the two are equal.
  session_started_at timestamptz(3),
  session_count      integer NOT NULL,
  PRIMARY KEY (organization, project, user_id, slug)
);

-- Forms queued for a user's next visit, and what became of them.
CREATE TABLE queue (
  organization     text NOT NULL,
  project          text NOT NULL,
  user_id          uuid NOT NULL,
  -- UUIDv5 of record id, received and form id: a record that is processed twice cannot queue twice.
  id               uuid NOT NULL,
  form_id          text NOT NULL,
  state            text NOT NULL CHECK (state IN ('waiting', 'offered', 'delivered', 'expired', 'cancelled')),
  priority         bigint NOT NULL,
  queued_at        timestamptz(3) NOT NULL,
  show_from        timestamptz(3) NOT NULL,
  expires_at       timestamptz(3),
  offered_at       timestamptz(3),
  shown_at         timestamptz(3),
  -- The visit that it was shown at.
  visit_id         uuid,
  -- The record that matched, and the revision of the organization's configuration that it matched under.
  cause_id         uuid NOT NULL,
  catalog_revision integer NOT NULL,
  -- Of user-events: its owner does what time does to this row.
  partition        integer NOT NULL,
  PRIMARY KEY (organization, project, user_id, id)
);

-- One open row a user and form.
CREATE UNIQUE INDEX queue_slot ON queue (organization, project, user_id, form_id) WHERE state IN ('waiting', 'offered');
-- What ticks look for.
CREATE INDEX queue_offered ON queue (partition, offered_at) WHERE state = 'offered';
CREATE INDEX queue_expiring ON queue (partition, expires_at) WHERE state = 'waiting' AND expires_at IS NOT NULL;
CREATE INDEX queue_waiting ON queue (partition, organization, project, form_id) WHERE state = 'waiting';

-- Why a form did, or did not, reach a user: the last decision for each.
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
  PRIMARY KEY (organization, project, user_id, form_id)
);
