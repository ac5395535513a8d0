-- One number under a limit: the organization's events of a month (project '') or a project's active users of a month.
-- count: folded from records. pending: units that admission has reserved, one for each row in `reservations`.
--
-- The row is also the lock of its reservations: whoever adds or deletes one locks the counter first. Counters are locked
-- in key order and in one pass, those that don't exist yet included (INSERT … ORDER BY … ON CONFLICT DO UPDATE; an
-- insert of what is missing before a lock of what is there would be two passes). So fold, reserve, release and tick
-- never wait for each other in a circle.
CREATE TABLE counters (
  organization text NOT NULL,
  project      text NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('event', 'mau')),
  month        text NOT NULL,
  count        bigint NOT NULL DEFAULT 0 CHECK (count >= 0),
  pending      bigint NOT NULL DEFAULT 0 CHECK (pending >= 0),
  PRIMARY KEY (organization, project, kind, month)
);

-- A unit of a counter, reserved for records that are on their way: of an event the record's own (unit = record id), of
-- an active user the user's (unit = user id), which parallel first identifies share.
CREATE TABLE reservations (
  organization text NOT NULL,
  project      text NOT NULL,
  kind         text NOT NULL,
  month        text NOT NULL,
  unit         uuid NOT NULL,
  -- Ids of the records that it was reserved for; a release frees the unit when it takes out the last one.
  holders      uuid[] NOT NULL,
  -- Where the records will be: the owner of this partition settles what never lands.
  partition    int NOT NULL,
  -- When it was last asked for.
  reserved_at  timestamptz(3) NOT NULL,
  -- The same record asked twice: its first publish had an unknown outcome and may be in the log, so only a fold or a
  -- tick frees the unit, no release.
  may_have_landed boolean NOT NULL,
  PRIMARY KEY (organization, project, kind, month, unit)
);
CREATE INDEX reservations_by_holder ON reservations USING gin (holders);
CREATE INDEX reservations_by_age ON reservations (partition, reserved_at);

-- Users who count in a month.
CREATE TABLE mau_members (
  organization text NOT NULL,
  project      text NOT NULL,
  month        text NOT NULL,
  user_id      uuid NOT NULL,
  PRIMARY KEY (organization, project, month, user_id)
);

-- What a project did in a month, by environment, metered or not. No limit draws on it.
CREATE TABLE usage (
  organization text NOT NULL,
  project      text NOT NULL,
  month        text NOT NULL,
  environment  text NOT NULL CHECK (environment IN ('P', 'T')),
  events       bigint NOT NULL,
  identifies   bigint NOT NULL,
  visits       bigint NOT NULL,
  PRIMARY KEY (organization, project, month, environment)
);

-- Names that a project uses, and the first month it did.
CREATE TABLE unique_names (
  organization text NOT NULL,
  project      text NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('trait', 'event')),
  slug         text NOT NULL,
  first_month  text NOT NULL,
  PRIMARY KEY (organization, project, kind, slug)
);

-- Reserves units for records that are about to be published, in the order of the questions:
-- [{organization, project, kind, month, unit, record_id, partition, limit}]. Answers one row a question, in order:
-- 'counted' (the user counts this month already, or the record is the copy of a keyed one that is folded: consumers drop
-- it), 'granted', or 'exhausted'. Asking again changes no verdict.
-- Room is least(asked, limit - count - pending), under the counters' locks. Where questions of one batch differ in their
-- limit (a plan has just changed), one that is refused still takes a place in the queue: refused too often, never too rarely.
CREATE FUNCTION reserve(questions jsonb, asked_at timestamptz) RETURNS TABLE (verdict text) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO counters AS known (organization, project, kind, month)
  SELECT DISTINCT q.organization, q.project, q.kind, q.month
  FROM jsonb_to_recordset(questions) AS q (organization text, project text, kind text, month text)
  ORDER BY 1, 2, 3, 4
  ON CONFLICT (organization, project, kind, month) DO UPDATE SET pending = known.pending;

  RETURN QUERY
  WITH asked AS (
    SELECT q.*, held.unit IS NOT NULL AS is_held,
           member.user_id IS NOT NULL OR first.record_id IS NOT NULL AS is_counted
    FROM ROWS FROM (
      jsonb_to_recordset(questions) AS (
        organization text, project text, kind text, month text, unit uuid, record_id uuid, partition int, "limit" bigint
      )
    ) WITH ORDINALITY AS q (organization, project, kind, month, unit, record_id, partition, "limit", position)
    LEFT JOIN reservations AS held USING (organization, project, kind, month, unit)
    LEFT JOIN mau_members AS member
      ON q.kind = 'mau' AND (member.organization, member.project, member.month, member.user_id)
                          = (q.organization, q.project, q.month, q.unit)
    LEFT JOIN keyed_records AS first
      ON first.record_id = q.record_id AND first.received > asked_at - interval '24 hours'
  ),
  fresh AS (
    SELECT DISTINCT ON (organization, project, kind, month, unit) *
    FROM asked
    WHERE NOT is_held AND NOT is_counted
    ORDER BY organization, project, kind, month, unit, position
  ),
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY organization, project, kind, month ORDER BY position) AS rank
    FROM fresh
  ),
  granted AS (
    SELECT ranked.*
    FROM ranked
    JOIN counters USING (organization, project, kind, month)
    WHERE counters.count + counters.pending + ranked.rank <= ranked."limit"
  ),
  raised AS (
    UPDATE counters SET pending = counters.pending + more.units
    FROM (SELECT organization, project, kind, month, count(*) AS units FROM granted GROUP BY 1, 2, 3, 4) AS more
    WHERE (counters.organization, counters.project, counters.kind, counters.month)
        = (more.organization, more.project, more.kind, more.month)
  ),
  holding AS (
    INSERT INTO reservations AS held
      (organization, project, kind, month, unit, holders, partition, reserved_at, may_have_landed)
    SELECT organization, project, kind, month, asked.unit, array_agg(asked.record_id), min(asked.partition), asked_at,
           count(*) > count(DISTINCT asked.record_id)
    FROM asked
    LEFT JOIN granted USING (organization, project, kind, month, unit)
    WHERE NOT asked.is_counted AND (asked.is_held OR granted.unit IS NOT NULL)
    GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT (organization, project, kind, month, unit) DO UPDATE SET
      holders = held.holders || excluded.holders,
      reserved_at = greatest(held.reserved_at, excluded.reserved_at),
      may_have_landed = held.may_have_landed OR excluded.may_have_landed OR held.holders && excluded.holders
    RETURNING held.organization, held.project, held.kind, held.month, held.unit
  )
  SELECT CASE WHEN asked.is_counted THEN 'counted' WHEN holding.unit IS NOT NULL THEN 'granted' ELSE 'exhausted' END
  FROM asked
  LEFT JOIN holding USING (organization, project, kind, month, unit)
  ORDER BY asked.position;
END
$$;
