import type { SettledUntil, TableRoles } from '@nextvisit/projection/replay'
import { FACTS_ARRIVE_WITHIN_MS } from './segment-tick.ts'

/**
 * Where the rows come from. A segment that is changed is computed anew for everybody at some instant that no log tells; a
 * rebuild has it so all along. Who is in it and when time may change that is the same; for when it was computed, and since
 * when they have been in it, the live rows stand. Counts that have come to nothing go by and by; a revision is the last
 * that somebody looked at.
 */
export const tableRoles: TableRoles = {
  users: {
    folded: (table) => `
      SELECT organization, project, user_id, user_name, traits, country, device, first_seen_at, last_seen_at, partition,
             definitions, changes_at
      FROM ${table}`,
    // Until changes_at nobody's segments change.
    carry: (live, rebuilt) => `
      UPDATE ${rebuilt} AS own SET as_of = theirs.as_of FROM ${live} AS theirs
      WHERE (own.organization, own.project, own.user_id) = (theirs.organization, theirs.project, theirs.user_id)
        AND own.definitions = theirs.definitions AND own.changes_at IS NOT DISTINCT FROM theirs.changes_at
        AND coalesce(own.as_of, '-infinity') < theirs.as_of`,
    notCompared: 'as_of, for when segments were computed: also when one was changed, which the log does not tell.',
  },
  user_events: 'fold',
  segment_members: {
    folded: (table) => `SELECT organization, project, segment_id, user_id FROM ${table}`,
    carry: (live, rebuilt) => `
      UPDATE ${rebuilt} AS own SET since = theirs.since FROM ${live} AS theirs
      WHERE (own.organization, own.project, own.segment_id, own.user_id)
          = (theirs.organization, theirs.project, theirs.segment_id, theirs.user_id)
        AND own.since <> theirs.since`,
    notCompared: 'since: it goes by when a segment was changed, too. The live one is kept.',
  },
  segment_counts: { folded: (table) => `SELECT * FROM ${table} WHERE members > 0` },
  segment_progress: {
    folded: (table) => `
      SELECT organization, project, definitions, partition, segments, users FROM ${table} WHERE users > 0`,
  },
}

/**
 * Ticks move what is due in its order, so that whatever was due before the first that still is has moved. A tick moves what
 * was due a while before its own instant. The clock's time, not the transaction's, which began before it waited for folds.
 */
export const segmentsSettledUntil: SettledUntil = (schema) => `
  SELECT partition, least(clock_timestamp(), min(changes_at) - interval '1 ms')
    + interval '${FACTS_ARRIVE_WITHIN_MS} ms' AS instant FROM ${schema}.users GROUP BY partition`
