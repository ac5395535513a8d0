import type { TableRoles } from '@nextvisit/projection/replay'

/**
 * Where the rows come from: what is known of users from `user-events`, the queue from `form-events`. An open offer is in
 * neither, nor is why a form did not reach a user, nor what was replied.
 */
export const tableRoles: TableRoles = {
  users: 'fold',
  event_occurrences: 'fold',
  queue: {
    folded: (table) => `
      SELECT organization, project, user_id, id, form_id, replace(state, 'offered', 'waiting') AS state, priority,
             queued_at, show_from, expires_at, shown_at, visit_id, cause_id, catalog_revision, partition
      FROM ${table}`,
    carry: (live, rebuilt) => `
      UPDATE ${rebuilt} AS own SET state = 'offered', offered_at = theirs.offered_at
      FROM ${live} AS theirs
      WHERE (own.organization, own.project, own.user_id, own.id)
          = (theirs.organization, theirs.project, theirs.user_id, theirs.id)
        AND own.state = 'waiting' AND theirs.state = 'offered'`,
  },
  decisions: 'carried',
  idempotent_outcomes: 'carried',
}
