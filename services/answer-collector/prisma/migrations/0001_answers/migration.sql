-- Rows of users' queues, as far as results need them. All records of a user share a partition, so a row has one writer.
CREATE TABLE offers (
  organization  text NOT NULL,
  project       text NOT NULL,
  user_id       uuid NOT NULL,
  -- Of the row in the queue.
  id            uuid NOT NULL,
  form_id       text NOT NULL,
  -- According to the latest record that has them: environment of the key, language, revision of the content.
  environment   text NOT NULL CHECK (environment IN ('P', 'T')),
  language      text,
  revision      int,
  -- The record that queued the form.
  cause_id      uuid NOT NULL,
  queued_at     timestamptz(3) NOT NULL,
  delivered_at  timestamptz(3),
  expired_at    timestamptz(3),
  -- The first recorded answer with an element, and its id.
  started_at    timestamptz(3),
  answer_id     uuid,
  ended_at      timestamptz(3),
  -- Of the latest recorded answer.
  status        text CHECK (status IN ('partial', 'finished', 'dismissed')),
  -- By element. json, not jsonb: the order of elements stays.
  answers       json NOT NULL,
  -- Size of the answers in bytes.
  answer_bytes  int NOT NULL,
  -- Counted values of the answers: a list of [element, type, value].
  counted       jsonb NOT NULL,
  PRIMARY KEY (organization, project, user_id, id)
);
ALTER TABLE offers ALTER COLUMN answers SET STATISTICS 0, ALTER COLUMN counted SET STATISTICS 0;
-- The answers of a form, newest first. Rows without answers are not in it.
CREATE INDEX offers_answered ON offers (organization, project, form_id, environment, started_at, id)
  WHERE started_at IS NOT NULL;

-- Number of offers of a form that took a step, over all days. Language '': unknown. All counters are rows of a partition, and only its
-- owner writes them: folds of two partitions never wait for each other. An erasure keeps them.
-- Each counter has a table over all days and one by UTC day: results of the whole time read rows whose number does not grow with the
-- days.
CREATE TABLE funnels (
  organization text NOT NULL,
  project      text NOT NULL,
  -- Pages of forms are merged with the forms of the workspace file, in this order.
  form_id      text COLLATE "C" NOT NULL,
  environment  text NOT NULL,
  language     text NOT NULL,
  step         text NOT NULL,
  partition    int NOT NULL,
  count        bigint NOT NULL,
  PRIMARY KEY (organization, project, form_id, environment, language, step, partition)
);

CREATE TABLE funnel_days (
  organization text NOT NULL,
  project      text NOT NULL,
  form_id      text NOT NULL,
  environment  text NOT NULL,
  day          text NOT NULL,
  language     text NOT NULL,
  step         text NOT NULL,
  partition    int NOT NULL,
  count        bigint NOT NULL,
  PRIMARY KEY (organization, project, form_id, environment, day, language, step, partition)
);

-- Number of offers that took from `seconds` up to `span` seconds more from delivered to finished. Each offer counts once in every span,
-- so the median is found by a descent from wide spans to seconds. It is exact, and survives erasures.
CREATE TABLE answer_times (
  organization text NOT NULL,
  project      text NOT NULL,
  form_id      text NOT NULL,
  environment  text NOT NULL,
  span         int NOT NULL,
  seconds      int NOT NULL,
  language     text NOT NULL,
  partition    int NOT NULL,
  count        bigint NOT NULL,
  PRIMARY KEY (organization, project, form_id, environment, span, seconds, language, partition)
);

-- The same by the day on which they were finished.
CREATE TABLE answer_time_days (
  organization text NOT NULL,
  project      text NOT NULL,
  form_id      text NOT NULL,
  environment  text NOT NULL,
  span         int NOT NULL,
  day          text NOT NULL,
  seconds      int NOT NULL,
  language     text NOT NULL,
  partition    int NOT NULL,
  count        bigint NOT NULL,
  PRIMARY KEY (organization, project, form_id, environment, span, day, seconds, language, partition)
);

-- Number of offers that have a value for an element. Value '': any. A value is a number, the id of an option, 'other', 'true' or
-- 'false'.
CREATE TABLE elements (
  organization text NOT NULL,
  project      text NOT NULL,
  form_id      text NOT NULL,
  environment  text NOT NULL,
  language     text NOT NULL,
  element      text NOT NULL,
  type         text NOT NULL,
  value        text NOT NULL,
  partition    int NOT NULL,
  -- A changed answer moves to another row. A commit deletes the rows that it leaves at 0.
  count        bigint NOT NULL,
  PRIMARY KEY (organization, project, form_id, environment, language, element, type, value, partition)
);
CREATE INDEX elements_empty ON elements (partition) WHERE count = 0;

-- The same by the day on which the offers were started.
CREATE TABLE element_days (
  organization text NOT NULL,
  project      text NOT NULL,
  form_id      text NOT NULL,
  environment  text NOT NULL,
  day          text NOT NULL,
  language     text NOT NULL,
  element      text NOT NULL,
  type         text NOT NULL,
  value        text NOT NULL,
  partition    int NOT NULL,
  count        bigint NOT NULL,
  PRIMARY KEY (organization, project, form_id, environment, day, language, element, type, value, partition)
);
CREATE INDEX element_days_empty ON element_days (partition) WHERE count = 0;

-- The same two counters, of erased users: the commit that folds the erasure moves their counts here. No replay can read their answers
-- again, so it carries these rows.
CREATE TABLE erased_elements (
  organization text NOT NULL,
  project      text NOT NULL,
  form_id      text NOT NULL,
  environment  text NOT NULL,
  language     text NOT NULL,
  element      text NOT NULL,
  type         text NOT NULL,
  value        text NOT NULL,
  partition    int NOT NULL,
  count        bigint NOT NULL,
  PRIMARY KEY (organization, project, form_id, environment, language, element, type, value, partition)
);

CREATE TABLE erased_element_days (
  organization text NOT NULL,
  project      text NOT NULL,
  form_id      text NOT NULL,
  environment  text NOT NULL,
  day          text NOT NULL,
  language     text NOT NULL,
  element      text NOT NULL,
  type         text NOT NULL,
  value        text NOT NULL,
  partition    int NOT NULL,
  count        bigint NOT NULL,
  PRIMARY KEY (organization, project, form_id, environment, day, language, element, type, value, partition)
);
