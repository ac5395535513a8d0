-- The record that was told 'new': the verdict of its copies, which are judged after it was folded.
ALTER TABLE definitions ADD COLUMN brought_by uuid;

-- Claims names for records that are about to be published, in the order of the questions and of their slugs:
-- [{organization, project, kind, record_id, partition, slugs: [text], limit, disabled: [text]}]. Answers an array of
-- verdicts for each: 'registered', 'claimed', 'new' or 'no-room'. Asking again changes no verdict:
-- the copy of a keyed record whose first is folded is told 'new' of a name that this first has brought in.
--
-- Locks, always in this order: projects by key, in one pass, then claims by key. Folds lock definitions by key, then
-- claims by key; ticks only claims by key. Definitions are read here, never locked. So nobody waits in a circle, and no
-- fold waits for a project. Once its row is locked a claim stays; one that is gone was folded, and its definition can be
-- seen by every later statement. A name that is folded unasked while it is claimed has both rows: it counts once.
CREATE OR REPLACE FUNCTION claim_names(questions jsonb, at timestamptz) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  question record;
  asked_slug text;
  bringer uuid;
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
      SELECT FROM keyed_records AS first
      WHERE first.record_id = q.record_id AND first.received > at - interval '24 hours'
    ) AS is_copy
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

      SELECT d.brought_by INTO bringer
      FROM definitions AS d
      WHERE (d.organization, d.project, d.kind, d.slug)
          = (question.organization, question.project, question.kind, asked_slug);
      IF FOUND THEN
        verdict := CASE WHEN bringer = question.record_id AND question.is_copy THEN 'new' ELSE 'registered' END;
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
