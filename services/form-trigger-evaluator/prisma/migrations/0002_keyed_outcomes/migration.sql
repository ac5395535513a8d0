-- What the evaluator replied to a record whose request had an Idempotency-Key: the reply to its copy, which is dropped.
CREATE TABLE keyed_outcomes (
  record_id uuid PRIMARY KEY,
  partition int NOT NULL,
  received  timestamptz(3) NOT NULL,
  reply     jsonb NOT NULL
);
CREATE INDEX keyed_outcomes_by_age ON keyed_outcomes (partition, received);
