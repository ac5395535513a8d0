-- Users that an identify has named. All facts of a user are in one partition, so there is one writer.
CREATE TABLE users (
  organization  text NOT NULL,
  project       text NOT NULL,
  user_id       uuid NOT NULL,
  user_name     text NOT NULL,
  -- json, not jsonb: it is kept as it was written. Lists of numbers take four times the room as jsonb, and 100 ms to write.
  traits        json NOT NULL,
  -- What the traits count together against the limit of a user (docs/spec/decisions.md, Identify).
  trait_bytes   integer NOT NULL,
  -- Operations that were dropped because of a limit.
  dropped_trait_operations bigint NOT NULL,
  country       text,
  -- Device facts by their $name, without the country.
  device        jsonb NOT NULL,
  first_seen_at timestamptz(3) NOT NULL,
  last_seen_at  timestamptz(3) NOT NULL,
  -- The user's partition of user-events. Its owner's ticks change this user's segments.
  partition     integer NOT NULL,
  -- The definitions that the user's segments were computed with; empty: none.
  definitions   text NOT NULL,
  -- The instant they were computed for; null: never yet.
  as_of         timestamptz(3),
  -- The next instant at which time alone may change them; null: never.
  changes_at    timestamptz(3),
  PRIMARY KEY (organization, project, user_id)
);
-- ANALYZE would copy values of people into pg_stats. No plan needs them: rows are found by key.
ALTER TABLE users
  ALTER COLUMN user_name SET STATISTICS 0,
  ALTER COLUMN traits SET STATISTICS 0,
  ALTER COLUMN country SET STATISTICS 0,
  ALTER COLUMN device SET STATISTICS 0;
-- The rows that ticks look for.
CREATE INDEX users_changing ON users (partition, changes_at) WHERE changes_at IS NOT NULL;
CREATE INDEX users_computed ON users (partition, organization, project, definitions, user_id);

-- How often a user had an event, and when (occurredAt). Also for users that no identify has named yet. With a # in it, a slug is of
-- the events with such properties, by the hash of the condition (docs/spec/forms.md, Property counts).
CREATE TABLE user_events (
  organization text NOT NULL,
  project      text NOT NULL,
  user_id      uuid NOT NULL,
  slug         text NOT NULL,
  count        bigint NOT NULL,
  first_at     timestamptz(3) NOT NULL,
  last_at      timestamptz(3) NOT NULL,
  -- occurredAt of the 51 latest, ascending, in ms since the epoch. Numbers, because parsing them is cheap.
  latest_ms    bigint[] NOT NULL,
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

-- Which users are in a segment, and since when.
CREATE TABLE segment_members (
  organization text NOT NULL,
  project      text NOT NULL,
  segment_id   text NOT NULL,
  user_id      uuid NOT NULL,
  since        timestamptz(3) NOT NULL,
  PRIMARY KEY (organization, project, segment_id, user_id)
);
CREATE INDEX segment_members_of_user ON segment_members (organization, project, user_id);

-- How many members a segment has, one row for each partition: owners of partitions never wait for each other.
CREATE TABLE segment_counts (
  organization text NOT NULL,
  project      text NOT NULL,
  segment_id   text NOT NULL,
  partition    integer NOT NULL,
  members      bigint NOT NULL,
  PRIMARY KEY (organization, project, segment_id, partition)
);

-- How many of a partition's users were computed with which definitions.
CREATE TABLE segment_progress (
  organization text NOT NULL,
  project      text NOT NULL,
  definitions  text NOT NULL,
  partition    integer NOT NULL,
  -- The definition of each segment that `definitions` stands for.
  segments     text[] NOT NULL,
  -- The latest catalog revision with these definitions.
  revision     integer NOT NULL,
  users        bigint NOT NULL,
  PRIMARY KEY (organization, project, definitions, partition)
);
-- Ticks look at the organizations that the catalog has changed.
CREATE INDEX segment_progress_by_partition ON segment_progress (partition, organization);
