-- A counter is one number under a limit: the organization's events of a month (project '') or a project's active users of
-- a month. What is used of it is the sum of three numbers, which never write the same row:
--
--   sum(counters.count) + reserved_room.units - sum(counters.fulfilled)
--
-- The last two are the reservations that are still there. Folding a reserved record adds one to `count` and one to
-- `fulfilled`: the sum stays the same.

-- What is folded of a counter, by partition. Only the partition's owner writes it, so folds of two partitions never wait
-- for each other, and no fold waits for a grant.
CREATE TABLE counters (
  organization text NOT NULL,
  project      text NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('event', 'mau')),
  month        text NOT NULL,
  partition    int NOT NULL,
  -- Folded from records.
  count        bigint NOT NULL CHECK (count >= 0),
  -- Reservations that ended because their record was folded.
  fulfilled    bigint NOT NULL DEFAULT 0 CHECK (fulfilled >= 0),
  PRIMARY KEY (organization, project, kind, month, partition)
);

-- How many units of a counter were ever reserved, without those that were given back or dropped.
--
-- The row is also the lock of grants, releases, leases, returns and ticks; folds never touch it. A transaction locks it before it adds a
-- reservation, or deletes one whose record is not folded. Rows are locked in key order and in one pass, including those
-- that do not exist yet: INSERT … ORDER BY … ON CONFLICT DO UPDATE. (To insert the missing ones first and then lock the
-- others would be two passes.) Then the reservations are locked, in key order, too. A fold locks only reservations, in the
-- same order: those of records, then leases. Only a tick locks both, too, and a partition's folds and ticks are commits of
-- its owner, one after the other. So fold, reserve, release, lease, return and tick never deadlock.
CREATE TABLE reserved_room (
  organization text NOT NULL,
  project      text NOT NULL,
  kind         text NOT NULL CHECK (kind IN ('event', 'mau')),
  month        text NOT NULL,
  units        bigint NOT NULL DEFAULT 0 CHECK (units >= 0),
  PRIMARY KEY (organization, project, kind, month)
);

-- A unit of a counter, reserved for records that are not folded yet. For an event, each record has its own unit
-- (unit = record id). For an active user, the user has one unit (unit = user id), which concurrent first identifies share.
--
-- A lease (unit = its id) is several units for events of one partition that are not known yet. Their records name it. A fold
-- takes off the units of the records that it counts, and a return those that the gateway did not use.
CREATE TABLE reservations (
  organization text NOT NULL,
  project      text NOT NULL,
  kind         text NOT NULL,
  month        text NOT NULL,
  unit         uuid NOT NULL,
  -- More than 1 only of a lease.
  units        bigint NOT NULL DEFAULT 1 CHECK (units > 0),
  -- Units of a lease that were given back so far.
  returned     bigint NOT NULL DEFAULT 0 CHECK (returned >= 0),
  -- Ids of the records that it was reserved for. A release removes one; the unit is freed with the last. None of a lease.
  holders      uuid[] NOT NULL,
  -- The partition that the records will be in. Its owner frees units whose records never arrive.
  partition    int NOT NULL,
  -- When it was last requested.
  reserved_at  timestamptz(3) NOT NULL,
  -- True when one record requested it twice: its first publish had an unknown outcome, so the record may be in the log.
  -- Then only a fold or a tick frees the unit, not a release. True of a lease.
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

-- A project's usage in a month, by environment, metered or not, and by partition, as for `counters`. No limit depends on it.
CREATE TABLE usage (
  organization text NOT NULL,
  project      text NOT NULL,
  month        text NOT NULL,
  environment  text NOT NULL CHECK (environment IN ('P', 'T')),
  partition    int NOT NULL,
  events       bigint NOT NULL,
  identifies   bigint NOT NULL,
  visits       bigint NOT NULL,
  PRIMARY KEY (organization, project, month, environment, partition)
);

-- Names that a project uses, and the first month in which it used them. All partitions share the rows, and a row is written
-- only by the first records of its name. Only where two partitions fold a new name at once, one fold waits for the other.
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
-- in order: its verdict, as at the end of the function. Asking again changes no verdict except 'held'.
--
-- Room is the difference between the limit and the counter. A unit that was published unchecked may be folded at the moment
-- it is granted here. Then it is counted and reserved, until the record that it was granted for is folded, or a tick drops
-- it: for that time there is too little room, never too much.
--
-- It runs for each event under a limit, and planning takes as long as the rest of it. So it keeps its plans, as
-- `lease_room` does, and any plan that is kept looks up by key: through an index, in a LATERAL with OFFSET 0, or by ON CONFLICT.
-- As joins, the look-ups of a plan from when the tables were small read whole tables.
CREATE FUNCTION reserve_room(questions jsonb, asked_at timestamptz) RETURNS TABLE (verdict text) LANGUAGE plpgsql
SET plan_cache_mode = auto SET enable_seqscan = off AS $$
BEGIN
  -- Locks the counters. The locks are taken before the room is read: the effects of other grants, which these statements
  -- wait for, are in the snapshot of the last statement.
  INSERT INTO reserved_room AS known (organization, project, kind, month)
  SELECT DISTINCT q.organization, q.project, q.kind, q.month
  FROM jsonb_to_recordset(questions) AS q (organization text, project text, kind text, month text)
  ORDER BY 1, 2, 3, 4
  ON CONFLICT (organization, project, kind, month) DO UPDATE SET units = known.units;

  -- Locks the reservations that are asked for again. Otherwise a fold could end one after the snapshot, and the last
  -- statement would insert it again without counting it.
  PERFORM FROM (
    SELECT DISTINCT q.organization, q.project, q.kind, q.month, q.unit
    FROM jsonb_to_recordset(questions)
      AS q (organization text, project text, kind text, month text, unit uuid, dry_run boolean)
    WHERE NOT q.dry_run
    ORDER BY 1, 2, 3, 4, 5
  ) AS again
  CROSS JOIN LATERAL (
    SELECT FROM reservations AS held
    WHERE (held.organization, held.project, held.kind, held.month, held.unit)
        = (again.organization, again.project, again.kind, again.month, again.unit)
    FOR UPDATE
  ) AS locked;

  -- One statement reads the room and grants it: a fold that moves a unit from `reserved` to `count` meanwhile is seen
  -- whole or not at all, and does not change the sum.
  RETURN QUERY
  WITH asked AS (
    SELECT q.*,
           -- An earlier question reserved the unit.
           EXISTS (
             SELECT FROM reservations AS held
             WHERE (held.organization, held.project, held.kind, held.month, held.unit)
                 = (q.organization, q.project, q.kind, q.month, q.unit)
             OFFSET 0
           ) AS is_held,
           -- The user is a member of the month, or the record is a duplicate of a folded record, which consumers drop.
           q.kind = 'mau' AND EXISTS (
             SELECT FROM mau_members AS member
             WHERE (member.organization, member.project, member.month, member.user_id)
                 = (q.organization, q.project, q.month, q.unit)
             OFFSET 0
           ) OR EXISTS (
             SELECT FROM idempotent_records AS first
             WHERE first.record_id = q.record_id AND first.received > asked_at - interval '24 hours'
             OFFSET 0
           ) AS is_counted
    FROM ROWS FROM (
      jsonb_to_recordset(questions) AS (
        organization text, project text, kind text, month text, unit uuid, record_id uuid, partition int, "limit" bigint,
        dry_run boolean
      )
    ) WITH ORDINALITY AS q (organization, project, kind, month, unit, record_id, partition, "limit", dry_run, position)
  ),
  -- The use of each counter: folded records, and reservations of records that are not folded.
  used AS MATERIALIZED (
    SELECT counter.*, folded.count, room.units - folded.fulfilled AS reserved
    FROM (SELECT DISTINCT asked.organization, asked.project, asked.kind, asked.month FROM asked) AS counter
    CROSS JOIN LATERAL (
      SELECT units FROM reserved_room AS r
      WHERE (r.organization, r.project, r.kind, r.month)
          = (counter.organization, counter.project, counter.kind, counter.month)
      OFFSET 0
    ) AS room
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(c.count), 0)::bigint AS count, coalesce(sum(c.fulfilled), 0)::bigint AS fulfilled
      FROM counters AS c
      WHERE (c.organization, c.project, c.kind, c.month)
          = (counter.organization, counter.project, counter.kind, counter.month)
    ) AS folded
  ),
  -- The units that need room: each once, at its first question.
  fresh AS (
    SELECT DISTINCT ON (organization, project, kind, month, unit) *
    FROM asked
    WHERE NOT is_held AND NOT is_counted AND NOT dry_run
    ORDER BY organization, project, kind, month, unit, position
  ),
  -- Their places in the order of the questions. If a plan has just changed, the limits of a batch may differ. A refused
  -- question still takes a place before the next ones: the batch may refuse too many, never too few.
  ranked AS (
    SELECT *, row_number() OVER (PARTITION BY organization, project, kind, month ORDER BY position) AS rank
    FROM fresh
  ),
  -- The units within the limit.
  granted AS (
    SELECT ranked.*
    FROM ranked
    JOIN used USING (organization, project, kind, month)
    WHERE used.count + used.reserved + ranked.rank <= ranked."limit"
  ),
  -- Adds the granted units to their counters.
  raised AS (
    INSERT INTO reserved_room AS room (organization, project, kind, month, units)
    SELECT organization, project, kind, month, count(*) FROM granted GROUP BY 1, 2, 3, 4
    ON CONFLICT (organization, project, kind, month) DO UPDATE SET units = room.units + excluded.units
  ),
  -- Makes each granted record a holder of its unit. A record that asked twice may be in the log.
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
    -- Folded records alone reach the limit.
    WHEN used.count >= asked."limit" THEN 'no-room'
    -- There is room, but a dry run reserves nothing.
    WHEN asked.dry_run AND used.count + used.reserved < asked."limit" THEN 'room'
    -- Reservations take the rest of the room. They may be released.
    ELSE 'held'
  END
  FROM asked
  JOIN used USING (organization, project, kind, month)
  LEFT JOIN holding USING (organization, project, kind, month, unit)
  ORDER BY asked.position;
END
$$;

-- Frees what was reserved for records that are known to be unpublished. Records that hold nothing are passed over.
--
-- It frees only reservations whose counters it has locked. A caller that repeats its request may reserve again at any
-- time; to delete that reservation under no lock would be a deadlock with the reserve that comes next.
CREATE FUNCTION release_room(record_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  -- As JSON: a replay replaces the table, and with it the type of its rows.
  counters_locked jsonb;
BEGIN
  SELECT jsonb_agg(to_jsonb(known)) INTO counters_locked FROM (
    SELECT organization, project, kind, month FROM reserved_room
    WHERE (organization, project, kind, month) IN
      (SELECT organization, project, kind, month FROM reservations WHERE holders && record_ids)
    ORDER BY organization, project, kind, month
    FOR UPDATE
  ) AS known;

  WITH locked AS MATERIALIZED (
    SELECT held.*, held.holders <@ record_ids AND NOT held.may_have_landed AS is_free
    FROM reservations AS held
    JOIN jsonb_to_recordset(counters_locked) AS counter (organization text, project text, kind text, month text)
      USING (organization, project, kind, month)
    WHERE held.holders && record_ids
    ORDER BY held.organization, held.project, held.kind, held.month, held.unit
    FOR UPDATE OF held
  ),
  gone AS (
    DELETE FROM reservations AS held USING locked
    WHERE (held.organization, held.project, held.kind, held.month, held.unit)
        = (locked.organization, locked.project, locked.kind, locked.month, locked.unit) AND locked.is_free
    RETURNING held.organization, held.project, held.kind, held.month
  ),
  kept AS (
    UPDATE reservations AS held SET holders = ARRAY(SELECT unnest(held.holders) EXCEPT SELECT unnest(record_ids))
    FROM locked
    WHERE (held.organization, held.project, held.kind, held.month, held.unit)
        = (locked.organization, locked.project, locked.kind, locked.month, locked.unit) AND NOT locked.is_free
  )
  UPDATE reserved_room AS room SET units = room.units - less.units
  FROM (SELECT organization, project, kind, month, count(*) AS units FROM gone GROUP BY 1, 2, 3, 4) AS less
  WHERE (room.organization, room.project, room.kind, room.month)
      = (less.organization, less.project, less.kind, less.month);
END
$$;

-- Leases room to gateways that have many events of an organization: [{organization, project, kind, month, limit, leases:
-- [{lease, partition, units}]}]. Answers one row for each question, in order: whether all of its units are leased.
--
-- Only an organization that is far from its limit is leased room: what is asked for is at most a sixteenth of what is left.
-- Room is read and locked as in `reserve_room`, by plans of the same kind. A lease that is there already was counted when it
-- was made.
CREATE FUNCTION lease_room(questions jsonb, asked_at timestamptz) RETURNS TABLE (is_granted boolean) LANGUAGE plpgsql
SET plan_cache_mode = auto SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO reserved_room AS known (organization, project, kind, month)
  SELECT DISTINCT q.organization, q.project, q.kind, q.month
  FROM jsonb_to_recordset(questions) AS q (organization text, project text, kind text, month text)
  ORDER BY 1, 2, 3, 4
  ON CONFLICT (organization, project, kind, month) DO UPDATE SET units = known.units;

  RETURN QUERY
  WITH asked AS (
    SELECT q.*,
           sum(wanted.units) OVER (PARTITION BY q.organization, q.project, q.kind, q.month ORDER BY q.position) AS units
    FROM ROWS FROM (
      jsonb_to_recordset(questions)
        AS (organization text, project text, kind text, month text, "limit" bigint, leases jsonb)
    ) WITH ORDINALITY AS q (organization, project, kind, month, "limit", leases, position)
    CROSS JOIN LATERAL (
      SELECT sum(part.units) AS units FROM jsonb_to_recordset(q.leases) AS part (units bigint)
    ) AS wanted
  ),
  decided AS MATERIALIZED (
    SELECT asked.*, folded.count + room.units - folded.fulfilled + 16 * asked.units <= asked."limit" AS is_granted
    FROM asked
    CROSS JOIN LATERAL (
      SELECT units FROM reserved_room AS r
      WHERE (r.organization, r.project, r.kind, r.month) = (asked.organization, asked.project, asked.kind, asked.month)
      OFFSET 0
    ) AS room
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(c.count), 0) AS count, coalesce(sum(c.fulfilled), 0) AS fulfilled
      FROM counters AS c
      WHERE (c.organization, c.project, c.kind, c.month) = (asked.organization, asked.project, asked.kind, asked.month)
    ) AS folded
  ),
  leased AS (
    INSERT INTO reservations AS held
      (organization, project, kind, month, unit, units, holders, partition, reserved_at, may_have_landed)
    SELECT organization, project, kind, month, part.lease, part.units, '{}', part.partition, asked_at, true
    FROM decided
    CROSS JOIN LATERAL jsonb_to_recordset(decided.leases) AS part (lease uuid, partition int, units bigint)
    WHERE decided.is_granted
    ON CONFLICT (organization, project, kind, month, unit) DO NOTHING
    RETURNING held.organization, held.project, held.kind, held.month, held.units
  ),
  raised AS (
    INSERT INTO reserved_room AS room (organization, project, kind, month, units)
    SELECT organization, project, kind, month, sum(units) FROM leased GROUP BY 1, 2, 3, 4
    ON CONFLICT (organization, project, kind, month) DO UPDATE SET units = room.units + excluded.units
  )
  SELECT decided.is_granted FROM decided ORDER BY decided.position;
END
$$;

-- Frees units of leases that are known to be unused: [{organization, project, kind, month, unit, units}]. `units` counts what
-- was given back before, too, so a call that comes twice or late frees nothing twice. Leases that are gone are passed over.
--
-- The leases are locked by a statement of their own: the next one sees what the folds that it waited for have left.
--
-- Every look-up is by key: as other joins, these read all reservations where Postgres has no statistics.
CREATE FUNCTION return_leased(returns jsonb) RETURNS void LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  PERFORM FROM reserved_room
  WHERE (organization, project, kind, month) IN
    (SELECT r.organization, r.project, r.kind, r.month
     FROM jsonb_to_recordset(returns) AS r (organization text, project text, kind text, month text))
  ORDER BY organization, project, kind, month
  FOR UPDATE;

  PERFORM FROM reservations
  WHERE (organization, project, kind, month, unit) IN
    (SELECT r.organization, r.project, r.kind, r.month, r.unit
     FROM jsonb_to_recordset(returns) AS r (organization text, project text, kind text, month text, unit uuid))
  ORDER BY organization, project, kind, month, unit
  FOR UPDATE;

  WITH less AS (
    SELECT held.organization, held.project, held.kind, held.month, held.unit, max(r.units) AS returned,
           least(held.units, max(r.units) - held.returned) AS units
    FROM reservations AS held
    JOIN jsonb_to_recordset(returns)
      AS r (organization text, project text, kind text, month text, unit uuid, units bigint)
      USING (organization, project, kind, month, unit)
    GROUP BY held.organization, held.project, held.kind, held.month, held.unit
    HAVING max(r.units) > held.returned
  ),
  gone AS (
    DELETE FROM reservations AS held USING less
    WHERE (held.organization, held.project, held.kind, held.month, held.unit)
        = (less.organization, less.project, less.kind, less.month, less.unit) AND held.units = less.units
  ),
  kept AS (
    UPDATE reservations AS held SET units = held.units - less.units, returned = less.returned FROM less
    WHERE (held.organization, held.project, held.kind, held.month, held.unit)
        = (less.organization, less.project, less.kind, less.month, less.unit) AND held.units > less.units
  )
  UPDATE reserved_room AS room SET units = room.units - freed.units
  FROM (SELECT organization, project, kind, month, sum(units) AS units FROM less GROUP BY 1, 2, 3, 4) AS freed
  WHERE (room.organization, room.project, room.kind, room.month)
      = (freed.organization, freed.project, freed.kind, freed.month);
END
$$;
