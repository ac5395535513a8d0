-- Someone whom an identify has named. All facts of a user share a partition: one writer.
CREATE TABLE users (
  organization  text NOT NULL,
  project       text NOT NULL,
  user_id       uuid NOT NULL,
  user_name     text NOT NULL,
  traits        jsonb NOT NULL,
  country       text,
  -- Device facts by their $name, without the country.
  device        jsonb NOT NULL,
  first_seen_at timestamptz(3) NOT NULL,
  last_seen_at  timestamptz(3) NOT NULL,
  PRIMARY KEY (organization, project, user_id)
);

-- How often an event happened to a user, known or not, and when (occurredAt).
CREATE TABLE user_events (
  organization text NOT NULL,
  project      text NOT NULL,
  user_id      uuid NOT NULL,
  slug         text NOT NULL,
  count        bigint NOT NULL,
  first_at     timestamptz(3) NOT NULL,
  last_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organization, project, user_id, slug)
);
