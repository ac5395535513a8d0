-- One row for each project, used only as a lock: claims of a project are decided one batch after the other.
CREATE TABLE projects (
  organization text NOT NULL,
  project      text NOT NULL,
  PRIMARY KEY (organization, project)
);

-- Traits and events that records of a project have carried. All partitions share the rows, and folds write one only where
-- it changes: at the first records of a name. So folds wait for each other only where two bring in a new name at once.
CREATE TABLE definitions (
  organization    text NOT NULL,
  project         text NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('trait', 'event')),
  slug            text COLLATE "C" NOT NULL,
  -- The spelling of the earliest record, by (received, id).
  name            text NOT NULL,
  first_seen_at   timestamptz(3) NOT NULL,
  first_record_id uuid NOT NULL,
  -- The record that got the verdict 'new'. Its duplicates get 'new' again after it is folded.
  registered_by   uuid,
  PRIMARY KEY (organization, project, kind, slug)
);

-- How often records of a partition have carried a name, and when last. Only the partition's owner writes the row.
CREATE TABLE definition_counts (
  organization text NOT NULL,
  project      text NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('trait', 'event')),
  slug         text COLLATE "C" NOT NULL,
  partition    int NOT NULL,
  count        bigint NOT NULL,
  last_seen_at timestamptz(3) NOT NULL,
  PRIMARY KEY (organization, project, kind, slug, partition)
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
  -- Ids of the records that depend on it. A release removes one; the name is freed with the last.
  holders      uuid[] NOT NULL,
  -- True when one record requested it twice (its first publish had an unknown outcome, so the record may be in the log),
  -- and when it has too many holders to list. Then only a fold or a tick frees the name, not a release.
  may_have_landed boolean NOT NULL,
  PRIMARY KEY (organization, project, kind, slug)
);
CREATE INDEX claims_by_age ON claims (asked_at);

-- How far each partition is folded: it has folded every record that was published before `instant`. Written while a
-- claim is old enough to be dropped.
CREATE TABLE tick_marks (
  partition int PRIMARY KEY,
  instant   timestamptz(3) NOT NULL
);

-- What is known of names, as of one instant and without locks. Questions are
-- [{organization, project, kind, record_id, partition, slugs: [text], limit, disabled: [text]}]. One row for each slug, in
-- the order of the questions and of their slugs:
--   'registered'  a record that carries the name is folded
--   'new'         the same, and the question is of a duplicate of the idempotent record that registered the name
--   'claimed'     a request claimed the name for a record that is not folded yet: claimed_by
--   'room'        the name is not known, and `room` more fit under the cap
--   'no-room'     the name is not known, and the cap is reached
CREATE FUNCTION find_names(questions jsonb, at timestamptz) RETURNS TABLE (
  place bigint, organization text, project text, kind text, slug text, record_id uuid, partition int,
  claimed_by uuid, room bigint, verdict text
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH given AS MATERIALIZED (
    SELECT * FROM ROWS FROM (
      jsonb_to_recordset(questions) AS (
        organization text, project text, kind text, record_id uuid, partition int,
        slugs text[], "limit" bigint, disabled text[]
      )
    ) WITH ORDINALITY AS q (organization, project, kind, record_id, partition, slugs, "limit", disabled, question)
  ),
  -- Without `disabled`: it can be large, and would be copied for each name.
  asked AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY q.question, name.nth) AS place, q.question, q.organization, q.project, q.kind,
           name.slug, q.record_id, q.partition, q."limit", definition.slug IS NOT NULL AS is_registered,
           definition.registered_by, claim.record_id AS claimed_by
    FROM given AS q
    CROSS JOIN LATERAL unnest(q.slugs) WITH ORDINALITY AS name (slug, nth)
    -- OFFSET 0: a look-up by key for each name. As joins, these read all names of all projects, until there are very many.
    LEFT JOIN LATERAL (
      SELECT d.slug, d.registered_by FROM definitions AS d
      WHERE (d.organization, d.project, d.kind, d.slug) = (q.organization, q.project, q.kind, name.slug)
      OFFSET 0
    ) AS definition ON true
    LEFT JOIN LATERAL (
      SELECT c.record_id FROM claims AS c
      WHERE (c.organization, c.project, c.kind, c.slug) = (q.organization, q.project, q.kind, name.slug)
      OFFSET 0
    ) AS claim ON true
  ),
  -- Names that take up room under the caps of unknown names: registered or claimed, but not disabled. A name can be both.
  taken AS MATERIALIZED (
    SELECT capped.questions, registered.names + claimed.names - disabled.names AS names
    FROM (
      SELECT given.organization, given.project, given.kind, given.disabled, array_agg(given.question) AS questions
      FROM given
      WHERE given.question IN (
        SELECT asked.question FROM asked
        WHERE NOT asked.is_registered AND asked.claimed_by IS NULL AND asked."limit" > 0
      )
      GROUP BY 1, 2, 3, 4
    ) AS capped
    CROSS JOIN LATERAL (
      SELECT count(*) AS names FROM definitions AS d
      WHERE (d.organization, d.project, d.kind) = (capped.organization, capped.project, capped.kind)
    ) AS registered
    CROSS JOIN LATERAL (
      SELECT count(*) AS names FROM claims AS c
      WHERE (c.organization, c.project, c.kind) = (capped.organization, capped.project, capped.kind)
        -- OFFSET 0: a look-up by key for each claim. As a join, tables without statistics are compared row by row.
        AND NOT EXISTS (
          SELECT FROM definitions AS d
          WHERE (d.organization, d.project, d.kind, d.slug) = (c.organization, c.project, c.kind, c.slug)
          OFFSET 0
        )
    ) AS claimed
    CROSS JOIN LATERAL (
      SELECT count(*) AS names FROM unnest(capped.disabled) AS off (slug)
      WHERE EXISTS (
        SELECT FROM definitions AS d
        WHERE (d.organization, d.project, d.kind, d.slug)
            = (capped.organization, capped.project, capped.kind, off.slug)
        OFFSET 0
      ) OR EXISTS (
        SELECT FROM claims AS c
        WHERE (c.organization, c.project, c.kind, c.slug)
            = (capped.organization, capped.project, capped.kind, off.slug)
        OFFSET 0
      )
    ) AS disabled
  )
  SELECT asked.place, asked.organization, asked.project, asked.kind, asked.slug, asked.record_id, asked.partition,
         asked.claimed_by, asked."limit" - coalesce(taken.names, 0),
         CASE
           WHEN asked.is_registered AND asked.registered_by = asked.record_id AND EXISTS (
             SELECT FROM idempotent_records AS first
             WHERE first.record_id = asked.record_id AND first.received > at - interval '24 hours'
             OFFSET 0
           ) THEN 'new'
           WHEN asked.is_registered THEN 'registered'
           WHEN asked.claimed_by IS NOT NULL THEN 'claimed'
           WHEN asked."limit" > coalesce(taken.names, 0) THEN 'room'
           ELSE 'no-room'
         END
  FROM asked LEFT JOIN taken ON asked.question = ANY (taken.questions)
  ORDER BY asked.place;
END
$$;

-- Claims names for records that are about to be published, in the order of the questions and of their slugs, and answers
-- a verdict for each slug: 'registered', 'claimed', 'new' or 'no-room'. Asking again changes no verdict: a duplicate of an
-- idempotent record that is folded gets 'new' again for a name that this record has registered.
--
-- Locks, always in this order: projects by key, in one pass, then claims by key. Folds lock new definitions by key, then
-- claims by key; ticks and releases lock only claims, by key. Definitions are read here, never locked. So nothing
-- deadlocks, and no fold waits for a project. A claim whose row is locked stays. A claim that is gone was folded, and every
-- later statement sees its definition, or was released, and its name is free. A name that was folded without a claim of its
-- own, while another request had claimed it, has both rows: it counts once.
CREATE FUNCTION claim_names(questions jsonb, at timestamptz) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  name record;
  claimant uuid;
  verdict text;
  verdicts text[] := '{}';
  -- By the number of a name, and of a kind of a project's names: who claims it here, and how many are new here.
  claimants uuid[] := '{}';
  granted bigint[] := '{}';
  held claims[] := '{}';
BEGIN
  INSERT INTO projects AS known (organization, project)
  SELECT DISTINCT q.organization, q.project FROM jsonb_to_recordset(questions) AS q (organization text, project text)
  ORDER BY 1, 2
  ON CONFLICT (organization, project) DO UPDATE SET project = known.project;

  PERFORM FROM (
    SELECT DISTINCT q.organization, q.project, q.kind, unnest(q.slugs) COLLATE "C" AS slug
    FROM jsonb_to_recordset(questions) AS q (organization text, project text, kind text, slugs text[])
    ORDER BY 1, 2, 3, 4
  ) AS asked
  CROSS JOIN LATERAL (
    SELECT FROM claims AS c
    WHERE (c.organization, c.project, c.kind, c.slug) = (asked.organization, asked.project, asked.kind, asked.slug)
    FOR UPDATE
  ) AS locked;

  FOR name IN
    SELECT found.*, dense_rank() OVER (ORDER BY found.organization, found.project, found.kind) AS kind_number,
           dense_rank() OVER (ORDER BY found.organization, found.project, found.kind, found.slug) AS name_number
    FROM find_names(questions, at) AS found ORDER BY found.place
  LOOP
    verdict := name.verdict;
    IF verdict NOT IN ('registered', 'new') THEN
      claimant := coalesce(name.claimed_by, claimants[name.name_number]);
      IF claimant IS NULL AND name.room > coalesce(granted[name.kind_number], 0) THEN
        claimant := name.record_id;
        claimants[name.name_number] := claimant;
        granted[name.kind_number] := coalesce(granted[name.kind_number], 0) + 1;
      END IF;
      verdict := CASE claimant WHEN name.record_id THEN 'new' ELSE 'claimed' END;
      IF claimant IS NULL THEN
        verdict := 'no-room';
      ELSE
        held := held || ROW(
          name.organization, name.project, name.kind, name.slug, claimant, name.partition, at, ARRAY[name.record_id], false
        )::claims;
      END IF;
    END IF;
    verdicts := verdicts || verdict;
  END LOOP;

  INSERT INTO claims AS known
    (organization, project, kind, slug, record_id, partition, asked_at, holders, may_have_landed)
  SELECT h.organization, h.project, h.kind, h.slug, (array_agg(h.record_id))[1], min(h.partition), at,
         array_agg(h.holders[1]), count(*) > count(DISTINCT h.holders[1])
  FROM unnest(held) AS h
  GROUP BY 1, 2, 3, 4
  ORDER BY 1, 2, 3, 4
  ON CONFLICT (organization, project, kind, slug) DO UPDATE SET
    asked_at = greatest(known.asked_at, excluded.asked_at),
    holders = CASE WHEN cardinality(known.holders) < 32 THEN known.holders || excluded.holders ELSE known.holders END,
    may_have_landed = known.may_have_landed OR excluded.may_have_landed OR known.holders && excluded.holders
      OR cardinality(known.holders) >= 32;

  RETURN verdicts;
END
$$;

-- Gives back names that unpublished records had claimed:
-- [{organization, project, kind, record_id, slugs: [text]}]. Names that such a record does not hold are passed over.
--
-- Every look-up is by key: as other joins, these read all claims, until there are very many.
CREATE FUNCTION release_names(questions jsonb) RETURNS void LANGUAGE sql
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  WITH given AS (
    SELECT q.organization, q.project, q.kind, name.slug, array_agg(q.record_id) AS record_ids
    FROM jsonb_to_recordset(questions)
      AS q (organization text, project text, kind text, record_id uuid, slugs text[])
    CROSS JOIN LATERAL unnest(q.slugs) AS name (slug)
    GROUP BY 1, 2, 3, 4
  ),
  locked AS MATERIALIZED (
    SELECT c.*, given.record_ids, c.holders <@ given.record_ids AND NOT c.may_have_landed AS is_free
    FROM claims AS c JOIN given USING (organization, project, kind, slug)
    WHERE c.holders && given.record_ids
    ORDER BY c.organization, c.project, c.kind, c.slug
    FOR UPDATE OF c
  ),
  gone AS (
    DELETE FROM claims AS c USING locked
    WHERE (c.organization, c.project, c.kind, c.slug)
        = (locked.organization, locked.project, locked.kind, locked.slug) AND locked.is_free
  )
  UPDATE claims AS c SET holders = ARRAY(SELECT unnest(c.holders) EXCEPT SELECT unnest(locked.record_ids))
  FROM locked
  WHERE (c.organization, c.project, c.kind, c.slug)
      = (locked.organization, locked.project, locked.kind, locked.slug) AND NOT locked.is_free
$$;
