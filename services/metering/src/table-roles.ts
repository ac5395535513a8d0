import type { TableRoles } from '@nextvisit/projection/replay'

/** Where the rows come from: reservations, and what is pending for them, are promises to gateways and not in the log. */
export const tableRoles: TableRoles = {
  counters: {
    folded: (table) => `SELECT organization, project, kind, month, count FROM ${table} WHERE count > 0`,
    carry: (live, rebuilt) => `
      INSERT INTO ${rebuilt} (organization, project, kind, month, pending)
      SELECT organization, project, kind, month, pending FROM ${live}
      ON CONFLICT (organization, project, kind, month) DO UPDATE SET pending = excluded.pending`,
  },
  reservations: 'carried',
  mau_members: 'fold',
  usage: 'fold',
  unique_names: 'fold',
}
