/**
 * The source of a table's rows, for replays.
 * - `fold`: the log alone. A replay rebuilds and compares whole rows.
 * - `carried`: not the log (reservations, for example). A replay moves the live rows unchanged.
 */
export type TableSource = 'fold' | 'carried' | PartlyFolded

/** A table of which only some columns or rows come from the log. Tables are named `schema.table`. */
interface PartlyFolded {
  /** The reason, for each column that a replay does not compare. It compares all others. Operators read the reasons. */
  readonly notCompared?: Readonly<Record<string, string>>
  /** Expressions that a replay compares instead of these columns. */
  readonly comparedAs?: Readonly<Record<string, string>>
  /** Returns a condition over `compared`, a row of the table: only these rows are compared. Default: all. */
  readonly comparedWhere?: (table: string) => string
  /**
   * Returns a statement that copies the rest from the live table into the rebuilt one. Folds wait for it, so its cost must
   * not grow with the users. Absent: the rest is not needed.
   */
  readonly carry?: (live: string, rebuilt: string) => string
  /** A column that is copied for each row before folds wait, and then only for rows that have changed since. */
  readonly carriedColumn?: CarriedColumn
}

/** A column that is copied from the live row (`theirs`) to the rebuilt one (`own`) with the same primary key. */
export interface CarriedColumn {
  readonly column: string
  /** A condition over `own` and `theirs`. */
  readonly when: string
}

/** The source of every table of a consumer's schema, without the core's tables. */
export type TableSources = Readonly<Record<string, TableSource>>

/**
 * Returns a query over the live schema for each `partition` and the `instant` (timestamptz) up to which ticks have changed
 * its rows. A replay brings the rebuilt rows to the same instant. Only for consumers whose ticks change rows.
 */
export type SettledUntil = (schema: string) => string

/** The sources of the core's tables that a replay treats like a consumer's. */
export const coreTableSources: TableSources = {
  outbox: 'carried',
  // Operators' requests to set records aside.
  partition_alarms: 'carried',
  idempotent_records: {
    // The moment at which older rows are deleted depends on how the log was cut into batches, and no fold reads them.
    comparedWhere: (table) => `
      NOT isfinite(received) OR received > (
        SELECT max(received) FROM ${table} AS last WHERE last.partition = compared.partition AND isfinite(received)
      ) - interval '48 hours'`,
  },
  erased_users: {
    carriedColumn: { column: 'rows', when: 'own.rows <> theirs.rows' },
    notCompared: {
      rows: 'a rebuild does not write the rows that the live fold had to delete. The live value is kept.',
    },
  },
}

/** The core's tables that a replay treats in its own way, and the tables of migrations. */
const OWN_TABLES: ReadonlySet<string> = new Set([
  'checkpoints',
  'dead_letters',
  // A replay reads the keys from the log, and keeps them. It does not compare them: compaction removes destroyed keys at any time.
  'user_keys',
  '_core_migrations',
  '_prisma_migrations',
])

/** Returns tables of a schema that have no source, and sources of tables that do not exist. */
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

/** Returns a query for the part of a table that a replay compares. Throws a RangeError if the source names an unknown column. */
export function comparedRows(table: string, columns: readonly string[], source: 'fold' | PartlyFolded): string {
  if (source === 'fold') return `SELECT * FROM ${table}`
  const { notCompared = {}, comparedAs = {}, comparedWhere } = source
  const unknown = Object.keys({ ...notCompared, ...comparedAs }).filter((column) => !columns.includes(column))
  if (unknown.length > 0) throw new RangeError(`${table} has no column ${unknown.join(', ')}`)
  const compared = columns
    .filter((column) => !Object.hasOwn(notCompared, column))
    .map((column) => (comparedAs[column] === undefined ? `"${column}"` : `${comparedAs[column]} AS "${column}"`))
  const where = comparedWhere === undefined ? '' : `WHERE ${comparedWhere(table)}`
  return `SELECT ${compared.join(', ')} FROM ${table} AS compared ${where}`
}
