-- One number under a limit: the organization's events of a month (project '') or a project's active users of a month.
-- count: folded from records. pending: units that admission has reserved, one for each row in `reservations`.
--
-- The row is also the lock of its reservations: a transaction locks the counter before it adds or deletes a reservation.
-- Counters are locked in key order and in one pass, including counters that do not exist yet: INSERT … ORDER BY …
-- ON CONFLICT DO UPDATE. (To insert the missing ones first and then lock the others would be two passes.) So fold,
-- reserve, release and tick never deadlock.
CREATE TABLE counters (
  organization text NOT NULL,
  project      text NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('event', 'mau')),
  month        text NOT NULL,
  count        bigint NOT NULL DEFAULT 0 CHECK (count >= 0),
  pending      bigint NOT NULL DEFAULT 0 CHECK (pending >= 0),
  PRIMARY KEY (organization, project, kind, month)
);

-- A unit of a counter, reserved for records that are not folded yet. For an event, each record has its own unit
-- (unit = record id). For an active user, the user has one unit (unit = user id), which concurrent first identifies share.
CREATE TABLE reservations (
  organization text NOT NULL,
  project      text NOT NULL,
  kind         text NOT NULL,
  month        text NOT NULL,
  unit         uuid NOT NULL,
  -- Ids of the records that it was reserved for. A release removes one; the unit is freed with the last.
  holders      uuid[] NOT NULL,
  -- The partition that the records will be in. Its owner frees units whose records never arrive.
  partition    int NOT NULL,
  -- When it was last requested.
  reserved_at  timestamptz(3) NOT NULL,
  -- True when one record requested it twice: its first publish had an unknown outcome, so the record may be in the log.
  -- Then only a fold or a tick frees the unit, not a release.
  may_have_landed boolean NOT NULL,
  PRIMARY KEY (organization, project, kind, month, unit)
);
CREATE INDEX reservations_by_holder ON reservations USING gin (holders);
CREATE INDEX reservations_by_age ON reservations (partition, reserved_at);

-- The active users of a month.
CREATE TABLE mau_members (
  organization text NOT NULL,
  project      text NOT NULL,
  month        text NOT NULL,
  user_id      uuid NOT NULL,
  PRIMARY KEY (organization, project, month, user_id)
);

-- A project's usage in a month, by environment, metered or not. No limit depends on it.
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

-- Names that a project uses, and the first month in which it used them.
CREATE TABLE unique_names (
  organization text NOT NULL,
  project      text NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('trait', 'event')),
  slug         text NOT NULL,
  first_month  text NOT NULL,
  PRIMARY KEY (organization, project, kind, slug)
);

-- Reserves units for records that are about to be published, in the order of the questions:
-- [{organization, project, kind, month, unit, record_id, partition, limit, dry_run}]. Answers one row for each question,
-- in order:
--   'counted'    the user is an active user of this month already, or the record is a duplicate of an idempotent record
--                that is folded: consumers drop it
--   'granted'    the unit is reserved
--   'held'       no room now, but some units are only reserved and may be released
--   'exhausted'  no room: count alone has reached the limit
--   'room'       there is room, but this was a dry run: it reserves nothing
-- Asking again changes no verdict except 'held'.
--
-- Room is least(requested, limit - count - pending), under the counters' locks. Questions of one batch may differ in their
-- limit, when a plan has just changed. A refused question then still takes a place before the next ones: the batch may
-- refuse too many, never too few.
CREATE FUNCTION reserve_room(questions jsonb, asked_at timestamptz) RETURNS TABLE (verdict text) LANGUAGE plpgsql AS $$
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
        organization text, project text, kind text, month text, unit uuid, record_id uuid, partition int, "limit" bigint,
        dry_run boolean
      )
    ) WITH ORDINALITY AS q (organization, project, kind, month, unit, record_id, partition, "limit", dry_run, position)
    LEFT JOIN reservations AS held USING (organization, project, kind, month, unit)
    LEFT JOIN mau_members AS member
      ON q.kind = 'mau' AND (member.organization, member.project, member.month, member.user_id)
                          = (q.organization, q.project, q.month, q.unit)
    LEFT JOIN idempotent_records AS first
      ON first.record_id = q.record_id AND first.received > asked_at - interval '24 hours'
  ),
  fresh AS (
    SELECT DISTINCT ON (organization, project, kind, month, unit) *
    FROM asked
    WHERE NOT is_held AND NOT is_counted AND NOT dry_run
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
    WHERE NOT asked.is_counted AND NOT asked.dry_run AND (asked.is_held OR granted.unit IS NOT NULL)
    GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT (organization, project, kind, month, unit) DO UPDATE SET
      holders = held.holders || excluded.holders,
      reserved_at = greatest(held.reserved_at, excluded.reserved_at),
      may_have_landed = held.may_have_landed OR excluded.may_have_landed OR held.holders && excluded.holders
    RETURNING held.organization, held.project, held.kind, held.month, held.unit
  )
  SELECT CASE
    WHEN asked.is_counted THEN 'counted'
    WHEN holding.unit IS NOT NULL THEN 'granted'
    WHEN counters.count >= asked."limit" THEN 'exhausted'
    WHEN asked.dry_run AND counters.count + counters.pending < asked."limit" THEN 'room'
    ELSE 'held'
  END
  FROM asked
  JOIN counters USING (organization, project, kind, month)
  LEFT JOIN holding USING (organization, project, kind, month, unit)
  ORDER BY asked.position;
END
$$;

-- Frees what was reserved for records that certainly were not published. Records that hold nothing are passed over.
--
-- It frees only reservations whose counters it has locked. A caller that repeats its request may reserve again at any
-- time; to delete that reservation under no lock would be a deadlock with the reserve that comes next.
CREATE FUNCTION release_room(record_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  -- As JSON: a replay replaces the table, and with it the type of its rows.
  locked jsonb;
BEGIN
  SELECT jsonb_agg(to_jsonb(known)) INTO locked FROM (
    SELECT organization, project, kind, month FROM counters
    WHERE (organization, project, kind, month) IN
      (SELECT organization, project, kind, month FROM reservations WHERE holders && record_ids)
    ORDER BY organization, project, kind, month
    FOR UPDATE
  ) AS known;

  WITH gone AS (
    DELETE FROM reservations AS held
    USING jsonb_to_recordset(locked) AS counter (organization text, project text, kind text, month text)
    WHERE (held.organization, held.project, held.kind, held.month)
        = (counter.organization, counter.project, counter.kind, counter.month)
      AND held.holders && record_ids AND held.holders <@ record_ids AND NOT held.may_have_landed
    RETURNING held.organization, held.project, held.kind, held.month
  )
  UPDATE counters SET pending = counters.pending - less.units
  FROM (SELECT organization, project, kind, month, count(*) AS units FROM gone GROUP BY 1, 2, 3, 4) AS less
  WHERE (counters.organization, counters.project, counters.kind, counters.month)
      = (less.organization, less.project, less.kind, less.month);

  UPDATE reservations AS held
  SET holders = ARRAY(SELECT unnest(held.holders) EXCEPT SELECT unnest(record_ids))
  FROM jsonb_to_recordset(locked) AS counter (organization text, project text, kind text, month text)
  WHERE (held.organization, held.project, held.kind, held.month)
      = (counter.organization, counter.project, counter.kind, counter.month)
    AND held.holders && record_ids;
END
$$;
