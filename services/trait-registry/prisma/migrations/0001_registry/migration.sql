-- One row for each project, used only as a lock: claims of a project are decided one batch after the other.
CREATE TABLE projects (
  organization text NOT NULL,
  project      text NOT NULL,
  PRIMARY KEY (organization, project)
);

-- Traits and events that records of a project have carried. All partitions share the rows, so folds only add.
CREATE TABLE definitions (
  organization    text NOT NULL,
  project         text NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('trait', 'event')),
  slug            text COLLATE "C" NOT NULL,
  -- The spelling of the earliest record, by (received, id).
  name            text NOT NULL,
  first_seen_at   timestamptz(3) NOT NULL,
  first_record_id uuid NOT NULL,
  last_seen_at    timestamptz(3) NOT NULL,
  count           bigint NOT NULL,
  -- The record that got the verdict 'new'. Its duplicates get 'new' again after it is folded.
  registered_by   uuid,
  PRIMARY KEY (organization, project, kind, slug)
);

-- Names that a request is about to register, until a record that carries them is folded.
CREATE TABLE claims (
  organization text NOT NULL,
  project      text NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('trait', 'event')),
  slug         text COLLATE "C" NOT NULL,
  -- The record that got the verdict 'new'.
  record_id    uuid NOT NULL,
  -- The partition that the record will be in. Its owner drops a claim whose records never arrive.
  partition    int NOT NULL,
  -- When it was last requested. A record that got 'claimed' depends on this claim, and may be in any partition.
  asked_at     timestamptz(3) NOT NULL,
  PRIMARY KEY (organization, project, kind, slug)
);
CREATE INDEX claims_by_age ON claims (asked_at);

-- How far each partition is folded: it has folded every record that was published before `instant`. Written while a
-- claim is old enough to be dropped.
CREATE TABLE tick_marks (
  partition int PRIMARY KEY,
  instant   timestamptz(3) NOT NULL
);

-- Claims names for records that are about to be published, in the order of the questions and of their slugs:
-- [{organization, project, kind, record_id, partition, slugs: [text], limit, disabled: [text]}]. Answers an array of
-- verdicts for each question: 'registered', 'claimed', 'new' or 'no-room'. Asking again changes no verdict: a duplicate
-- of an idempotent record that is folded gets 'new' again for a name that this record has registered.
--
-- Locks, always in this order: projects by key, in one pass, then claims by key. Folds lock definitions by key, then
-- claims by key; ticks lock only claims, by key. Definitions are read here, never locked. So nothing deadlocks, and no
-- fold waits for a project. A claim whose row is locked stays. A claim that is gone was folded, and every later statement
-- sees its definition. A name that was folded without a claim of its own, while another request had claimed it, has both
-- rows: it counts once.
CREATE FUNCTION claim_names(questions jsonb, at timestamptz) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  question record;
  asked_slug text;
  registrant uuid;
  room bigint;
  verdict text;
  verdicts text[];
  answer jsonb := '[]';
BEGIN
  INSERT INTO projects AS known (organization, project)
  SELECT DISTINCT q.organization, q.project FROM jsonb_to_recordset(questions) AS q (organization text, project text)
  ORDER BY 1, 2
  ON CONFLICT (organization, project) DO UPDATE SET project = known.project;

  PERFORM FROM claims AS c
  WHERE (c.organization, c.project, c.kind, c.slug) IN (
    SELECT q.organization, q.project, q.kind, unnest(q.slugs)
    FROM jsonb_to_recordset(questions) AS q (organization text, project text, kind text, slugs text[])
  )
  ORDER BY c.organization, c.project, c.kind, c.slug
  FOR UPDATE;

  FOR question IN
    SELECT q.*, EXISTS (
      SELECT FROM idempotent_records AS first
      WHERE first.record_id = q.record_id AND first.received > at - interval '24 hours'
    ) AS is_duplicate
    FROM ROWS FROM (
      jsonb_to_recordset(questions) AS (
        organization text, project text, kind text, record_id uuid, partition int,
        slugs text[], "limit" bigint, disabled text[]
      )
    ) WITH ORDINALITY AS q (organization, project, kind, record_id, partition, slugs, "limit", disabled, position)
    ORDER BY q.position
  LOOP
    room := NULL;
    verdicts := '{}';
    FOREACH asked_slug IN ARRAY question.slugs LOOP
      UPDATE claims AS c SET asked_at = greatest(c.asked_at, at)
      WHERE (c.organization, c.project, c.kind, c.slug)
          = (question.organization, question.project, question.kind, asked_slug)
      RETURNING CASE WHEN c.record_id = question.record_id THEN 'new' ELSE 'claimed' END INTO verdict;

      SELECT d.registered_by INTO registrant
      FROM definitions AS d
      WHERE (d.organization, d.project, d.kind, d.slug)
          = (question.organization, question.project, question.kind, asked_slug);
      IF FOUND THEN
        verdict := CASE WHEN registrant = question.record_id AND question.is_duplicate THEN 'new' ELSE 'registered' END;
      ELSIF verdict IS NULL THEN
        IF room IS NULL AND question."limit" IS NOT NULL THEN
          SELECT question."limit" - count(*) INTO room
          FROM (
            SELECT d.slug FROM definitions AS d
            WHERE (d.organization, d.project, d.kind) = (question.organization, question.project, question.kind)
            UNION
            SELECT c.slug FROM claims AS c
            WHERE (c.organization, c.project, c.kind) = (question.organization, question.project, question.kind)
          ) AS taken
          WHERE taken.slug <> ALL (question.disabled);
        END IF;
        IF room <= 0 THEN
          verdict := 'no-room';
        ELSE
          verdict := 'new';
          room := room - 1;
          INSERT INTO claims VALUES (
            question.organization, question.project, question.kind, asked_slug,
            question.record_id, question.partition, at
          );
        END IF;
      END IF;
      verdicts := verdicts || verdict;
    END LOOP;
    answer := answer || jsonb_build_array(to_jsonb(verdicts));
  END LOOP;
  RETURN answer;
END
$$;
