/**
 * Where the rows of a table come from, so far as a replay has to know.
 * - `fold`: only from the log. Rebuilt, and compared whole.
 * - `carried`: not from the log (reservations, for example). Moved from the live schema as they are.
 */
export type TableSource = 'fold' | 'carried' | PartlyFolded

/** Some columns or rows come from the log, others do not. Tables are given as `schema.table`. */
export interface PartlyFolded {
  /** A query for what comes from the log. It is compared. */
  readonly folded: (table: string) => string
  /**
   * A statement that copies the rest from the live table into the rebuilt one. Folds wait for it, so its cost must not grow
   * with the users. Left out: the rest is not needed.
   */
  readonly carry?: (live: string, rebuilt: string) => string
  /** A column that is copied for each row. That happens before folds wait; then only for rows that have changed since. */
  readonly carriedColumn?: CarriedColumn
  /** Which columns are left out and why, for the reader of the comparison. */
  readonly notCompared?: string
}

/** Copied from the live row (`theirs`) to the rebuilt one (`own`) with the same primary key. */
export interface CarriedColumn {
  readonly column: string
  /** Over `own` and `theirs`. */
  readonly when: string
}

/** Every table of a consumer's schema, without the core's own. */
export type TableSources = Readonly<Record<string, TableSource>>

/**
 * For a consumer whose ticks change rows: a query over the live schema for `partition` and the `instant` (timestamptz) up
 * to which ticks have changed that partition's rows. A replay brings the rebuilt rows to the same instant.
 */
export type SettledUntil = (schema: string) => string

/** The core's tables that a replay compares or moves like a consumer's. */
export const coreTableSources: TableSources = {
  outbox: 'carried',
  // What an operator wants set aside.
  partition_alarms: 'carried',
  idempotent_records: {
    // When older ones are deleted depends on how the log was cut into batches, and nobody asks for them any more.
    folded: (table) => `
      SELECT record_id, partition, received FROM ${table} AS known
      WHERE NOT isfinite(received) OR received > (
        SELECT max(received) FROM ${table} AS last WHERE last.partition = known.partition AND isfinite(received)
      ) - interval '48 hours'`,
  },
}

/** The core's tables that a replay treats in its own way, and the bookkeeping of migrations. */
const OWN_TABLES: ReadonlySet<string> = new Set([
  'checkpoints',
  'dead_letters',
  '_core_migrations',
  '_prisma_migrations',
])

/** Tables of a schema that have no role, and tableSources of tables that do not exist. */
export function unknownTables(
  tables: readonly string[],
  tableSources: TableSources,
): { readonly withoutSource: readonly string[]; readonly missing: readonly string[] } {
  const known = new Set([...Object.keys(tableSources), ...Object.keys(coreTableSources), ...OWN_TABLES])
  return {
    withoutSource: tables.filter((table) => !known.has(table)),
    missing: Object.keys(tableSources).filter((table) => !tables.includes(table)),
  }
}
