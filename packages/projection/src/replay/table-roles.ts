/**
 * Where the rows of a table come from, so far as a replay has to know.
 * - `fold`: from the log alone; rebuilt, and compared whole.
 * - `carried`: not from the log (reservations, say); taken over from the live schema as they are.
 */
export type TableRole = 'fold' | 'carried' | PartlyFolded

/** Some columns or rows come from the log, others do not. Tables are given as `schema.table`. */
export interface PartlyFolded {
  /** A query for what comes from the log: compared. */
  readonly folded: (table: string) => string
  /** A statement that brings what does not from the live table into the rebuilt one. Left out: it need not come. */
  readonly carry?: (live: string, rebuilt: string) => string
  /** Which columns are left out, and why, for whoever reads the comparison. */
  readonly notCompared?: string
}

/** Every table of a service's schema but the core's own. */
export type TableRoles = Readonly<Record<string, TableRole>>

/** The core's tables that a replay compares or takes over as it does a service's. */
export const coreTableRoles: TableRoles = {
  outbox: 'carried',
  idempotent_records: {
    // When older ones are forgotten depends on how the log was cut into batches; nobody asks for them any more.
    folded: (table) => `
      SELECT record_id, partition, received FROM ${table} AS known
      WHERE NOT isfinite(received) OR received > (
        SELECT max(received) FROM ${table} AS last WHERE last.partition = known.partition AND isfinite(received)
      ) - interval '48 hours'`,
  },
}

/** The core's tables that a replay treats in its own way, and the bookkeeping of migrations. */
export const ownTables: ReadonlySet<string> = new Set([
  'checkpoints',
  'dead_letters',
  '_core_migrations',
  '_prisma_migrations',
])

/** Tables of a schema that nobody has said of where their rows come from, and roles of tables that are not there. */
export function unknownTables(
  tables: readonly string[],
  roles: TableRoles,
): { readonly withoutRole: readonly string[]; readonly missing: readonly string[] } {
  const known = new Set([...Object.keys(roles), ...Object.keys(coreTableRoles), ...ownTables])
  return {
    withoutRole: tables.filter((table) => !known.has(table)),
    missing: Object.keys(roles).filter((table) => !tables.includes(table)),
  }
}
