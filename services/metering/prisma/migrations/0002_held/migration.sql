-- Reserves units for records that are about to be published, in the order of the questions:
-- [{organization, project, kind, month, unit, record_id, partition, limit, only_looks}]. Answers one row a question, in order:
-- 'counted' (the user counts this month already, or the record is the copy of a keyed one that is folded: consumers drop
-- it), 'granted', 'held' (no room, but some of what takes it is only reserved and may be given back), or 'exhausted'
-- (count alone has reached the limit). Asking again changes no verdict but 'held'. Who only looks reserves nothing and is
-- told 'room' instead of 'granted'.
-- Room is least(asked, limit - count - pending), under the counters' locks. Where questions of one batch differ in their
-- limit (a plan has just changed), one that is refused still takes a place in the queue: refused too often, never too rarely.
-- The function `reserve` stays as it was, for processes of the version before.
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
        only_looks boolean
      )
    ) WITH ORDINALITY AS q (organization, project, kind, month, unit, record_id, partition, "limit", only_looks, position)
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
    WHERE NOT is_held AND NOT is_counted AND NOT only_looks
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
    WHERE NOT asked.is_counted AND NOT asked.only_looks AND (asked.is_held OR granted.unit IS NOT NULL)
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
    WHEN asked.only_looks AND counters.count + counters.pending < asked."limit" THEN 'room'
    ELSE 'held'
  END
  FROM asked
  JOIN counters USING (organization, project, kind, month)
  LEFT JOIN holding USING (organization, project, kind, month, unit)
  ORDER BY asked.position;
END
$$;
