-- Requested erasures of users.
CREATE TABLE erasures (
  erasure_id   uuid PRIMARY KEY,
  organization text NOT NULL,
  project      text NOT NULL,
  requested_at timestamptz(3) NOT NULL,
  -- The number of users, and of those that had no profile.
  users        int NOT NULL,
  unknown      int NOT NULL,
  suppress     boolean NOT NULL,
  -- From ErasureCompleted; null: not complete.
  completed_at timestamptz(3),
  receipt      text,
  -- Every store except user-keys has finished, and the keys were searched for: only the search for keys reads it.
  keys_only    boolean NOT NULL DEFAULT false
);
-- It lists userIds.
ALTER TABLE erasures ALTER COLUMN receipt SET STATISTICS 0;
CREATE INDEX erasures_by_time ON erasures (organization, project, requested_at DESC, erasure_id DESC);
CREATE INDEX erasures_running ON erasures (requested_at, erasure_id) WHERE completed_at IS NULL;
-- An erasure waits nearly all its time for Kafka, which deletes the keys. A round reads the others only.
CREATE INDEX erasures_active ON erasures (organization, erasure_id) WHERE completed_at IS NULL AND NOT keys_only;

-- The users of an erasure. Keys that a user got until keys_until are destroyed.
CREATE TABLE erasure_users (
  organization text NOT NULL,
  project      text NOT NULL,
  user_id      uuid NOT NULL,
  erasure_id   uuid NOT NULL,
  keys_until   timestamptz(3) NOT NULL,
  PRIMARY KEY (erasure_id, user_id)
);
-- The last erasure of a user.
CREATE INDEX erasure_users_of_user ON erasure_users (user_id, keys_until);

-- Where each UserErased is in user-events, as the broker has acknowledged it.
CREATE TABLE erasure_facts (
  erasure_id uuid NOT NULL,
  user_id    uuid NOT NULL,
  partition  int NOT NULL,
  "offset"   bigint NOT NULL,
  PRIMARY KEY (erasure_id, user_id)
);

-- What each store has done for an erasure. The store `receipt` stands for the publish of ErasureCompleted.
CREATE TABLE erasure_stores (
  erasure_id  uuid NOT NULL,
  store       text NOT NULL,
  rows        bigint NOT NULL DEFAULT 0,
  finished_at timestamptz(3),
  -- Later than this, an unfinished store counts as incomplete; null: a minute after the request.
  due_at      timestamptz(3),
  -- Why the last attempt has failed; null: it has not.
  because     text,
  PRIMARY KEY (erasure_id, store)
);

-- Keys of erased users that were found in user-keys.
CREATE TABLE erased_keys (
  user_id     uuid NOT NULL,
  key_id      uuid NOT NULL,
  -- Of user-keys.
  partition   int NOT NULL,
  -- SHA-256 of the encrypted key.
  fingerprint text NOT NULL,
  -- When the topic was first read without the key; null: it still has the key.
  gone_at     timestamptz(3),
  PRIMARY KEY (user_id, key_id)
);
CREATE INDEX erased_keys_left ON erased_keys (partition) WHERE gone_at IS NULL;

-- How far each partition of user-keys was searched for keys that are published again.
CREATE TABLE key_cursors (
  partition   int PRIMARY KEY,
  next_offset bigint NOT NULL
);

-- The keys of the installation, in one row: the key pair that signs receipts, and the key of the hashes of suppressed users.
-- NEXTVISIT_SECRET_KEY encrypts the private ones.
CREATE TABLE installation_keys (
  id              int PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  receipt_key     text NOT NULL,
  receipt_secret  text NOT NULL,
  suppression_key text NOT NULL
);
