import type { ExpectedDifferences, SettledUntil, TableRoles } from '@nextvisit/projection/replay'
import { FACTS_ARRIVE_WITHIN_MS } from './segment-tick.ts'

/** Where the rows come from. Counts that have come to nothing go by and by; a revision is the last that somebody looked at. */
export const tableRoles: TableRoles = {
  users: 'fold',
  user_events: 'fold',
  segment_members: 'fold',
  segment_counts: { folded: (table) => `SELECT * FROM ${table} WHERE members > 0` },
  segment_progress: {
    folded: (table) => `
      SELECT organization, project, definitions, partition, segments, users FROM ${table} WHERE users > 0`,
  },
}

/** A changed segment was computed anew when it was applied; a rebuild has it so all along. */
export const expectedDifferences: ExpectedDifferences = {
  users: 'as_of alone may differ, of users without records since a segment was changed; nothing is wrong then.',
  segment_members: 'since alone may differ, of members from before a segment was changed; nothing is wrong then.',
}

/**
 * Ticks move what is due in its order, so that whatever was due before the first that still is has moved. A tick moves what
 * was due a while before its own instant. The clock's time, not the transaction's, which began before it waited for folds.
 */
export const segmentsSettledUntil: SettledUntil = (schema) => `
  SELECT partition, least(clock_timestamp(), min(changes_at) - interval '1 ms')
    + interval '${FACTS_ARRIVE_WITHIN_MS} ms' AS instant FROM ${schema}.users GROUP BY partition`
