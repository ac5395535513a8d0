-- What segments go by can not be had from rows that were folded without it: they are folded again, from where the log
-- begins. Dead letters go with them: the log brings those again that still can not be parsed, and the others are folded
-- from it, once.
TRUNCATE users, user_events, keyed_records, dead_letters;
DELETE FROM checkpoints;

ALTER TABLE users
  -- Of user-events: its owner does what time and a new catalog do to this user's segments.
  ADD COLUMN partition integer NOT NULL,
  -- The definitions that the user's segments were computed with; empty: none.
  ADD COLUMN definitions text NOT NULL,
  -- The instant they were computed for; absent: never yet.
  ADD COLUMN as_of timestamptz(3),
  -- The next instant at which time alone may change them; absent: never.
  ADD COLUMN changes_at timestamptz(3);
-- What ticks look for.
CREATE INDEX users_changing ON users (partition, changes_at) WHERE changes_at IS NOT NULL;
CREATE INDEX users_computed ON users (partition, organization, project, definitions, user_id);

-- occurredAt of the 50 latest, ascending, in ms since the epoch: read by the million, and cheap to.
ALTER TABLE user_events ADD COLUMN latest_ms bigint[] NOT NULL;

-- Who is in a segment, and since when.
CREATE TABLE segment_members (
  organization text NOT NULL,
  project      text NOT NULL,
  segment_id   text NOT NULL,
  user_id      uuid NOT NULL,
  since        timestamptz(3) NOT NULL,
  PRIMARY KEY (organization, project, segment_id, user_id)
);
CREATE INDEX segment_members_of_user ON segment_members (organization, project, user_id);

-- How many they are, a partition each: owners never wait for each other.
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
  -- The definition of each segment that they are made of.
  segments     text[] NOT NULL,
  -- The latest catalog that said so.
  revision     integer NOT NULL,
  users        bigint NOT NULL,
  PRIMARY KEY (organization, project, definitions, partition)
);
