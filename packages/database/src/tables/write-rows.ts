import type { Column, Columns, RowToWrite } from './column-types.ts'
import { mergedColumns, type MergeRules, mergeRows, type TableRow } from './merge-rows.ts'
import { empty, raw, type Sql, sql } from '../sql.ts'
import { namesOf, type TableShape, unnest } from './table-shape.ts'

/** Builds the statements that write rows of one table. Without rows there is no statement. */
export interface TableWrites<Of extends Columns, Key extends keyof Of & string> {
  /** Inserts rows, or merges them into existing ones. Several rows with one key are merged in the same way. */
  readonly upsert: (rows: readonly RowToWrite<Of>[], options?: UpsertOptions) => Sql[]
  /**
   * Upserts rows that may omit one column with long values. A row without it must exist and keeps its value, so unchanged
   * values are not sent. Each key only once, and only for a table whose columns are all replaced.
   */
  readonly upsertKeeping: <Long extends keyof Of & string>(
    long: Long,
    rows: readonly (RowToWrite<Omit<Of, Long>> & { readonly [Name in Long]: string | undefined })[],
  ) => Sql[]
  /** Inserts rows. Fails if one exists. If Postgres generates the key, rows are inserted in the given order. */
  readonly insert: (rows: readonly RowToWrite<Of>[]) => Sql[]
  /** Inserts missing rows. Existing ones are neither changed nor locked. Of several rows with one key, the first is inserted. */
  readonly insertMissing: (rows: readonly RowToWrite<Of>[]) => Sql[]
  /** Sets columns in existing rows. */
  readonly update: <Changed extends keyof Of & string>(
    rows: readonly RowToWrite<Pick<Of, Key | Changed>>[],
    changed: readonly Changed[],
  ) => Sql[]
  readonly deleteByKeys: (keys: readonly RowToWrite<Pick<Of, Key>>[]) => Sql[]
  /** Deletes the rows that meet a condition. */
  readonly deleteWhere: (condition: Sql) => Sql
}

interface UpsertOptions {
  /** Condition on the rows to write, called `given`. Other rows are skipped and not locked. */
  readonly where?: Sql
}

export function writesOf<Of extends Columns, Key extends keyof Of & string>(
  shape: TableShape,
  rules: MergeRules,
): TableWrites<Of, Key> {
  const { table, columns, keyColumns, pick, valuesOf } = shape
  const key = keyColumns.map(({ property }) => property)
  const keyNames = namesOf(keyColumns)
  const onKey = sql`ON CONFLICT (${keyNames})`
  const merging = sql`${onKey} DO UPDATE SET ${raw(mergedColumns(columns, key, rules))}`

  const insertion = (rows: readonly object[], where: Sql = empty, conflict: Sql = empty): Sql => sql`
    INSERT INTO ${table} AS known (${namesOf(columns)})
    SELECT ${raw(columns.map((column) => castOf(column)).join(', '))} FROM ${unnest('given', columns, rows)} ${where}
    ORDER BY ${keyColumns.length > 0 ? sql`${keyNames}, ` : empty}position ${conflict}`

  const upsert = (rows: readonly TableRow[], { where }: UpsertOptions = {}): Sql[] =>
    rows.length > 0 ? [insertion(mergeRows(rows, key, rules), where && sql`WHERE ${where}`, merging)] : []

  const update = (rows: readonly object[], changed: readonly string[]): Sql[] => {
    if (rows.length === 0) return []
    const moved = pick(changed)
    return [
      sql`
      WITH locked AS MATERIALIZED (
        SELECT given.* FROM ${table} JOIN ${unnest('given', [...keyColumns, ...moved], rows)} USING (${keyNames})
        ORDER BY ${keyNames} FOR NO KEY UPDATE OF ${table}
      )
      UPDATE ${table} SET ${raw(moved.map((column) => `${column.name} = ${castOf(column, 'locked.')}`).join(', '))}
      FROM locked WHERE ${valuesOf(keyColumns)} = ${valuesOf(keyColumns, 'locked')}`,
    ]
  }

  const deleteWhere = (condition: Sql): Sql => sql`
    WITH locked AS MATERIALIZED (SELECT ${keyNames} FROM ${table} WHERE ${condition} ORDER BY ${keyNames} FOR UPDATE)
    DELETE FROM ${table} USING locked WHERE ${valuesOf(keyColumns)} = ${valuesOf(keyColumns, 'locked')}`

  return {
    insert: (rows) => (rows.length > 0 ? [insertion(rows)] : []),
    insertMissing: (rows) => (rows.length > 0 ? [insertion(rows, empty, sql`${onKey} DO NOTHING`)] : []),
    upsert,
    upsertKeeping: (long, rows) => {
      const { whole = [], unchanged = [] } = Object.groupBy<'whole' | 'unchanged', TableRow>(rows, (row) =>
        row[long] === undefined ? 'unchanged' : 'whole',
      )
      const others = columns.map(({ property }) => property).filter((one) => one !== long && !key.includes(one))
      return [...upsert(whole), ...update(unchanged, others)]
    },
    update,
    deleteWhere,
    deleteByKeys: (keys) =>
      keys.length > 0
        ? [deleteWhere(sql`(${keyNames}) IN (SELECT ${keyNames} FROM ${unnest('asked', keyColumns, keys)})`)]
        : [],
  }
}

/** Returns the SQL that converts a sent column to its type. */
function castOf({ name, arrayOf, type, decode }: Column, prefix = ''): string {
  const column = `${prefix}${name}`
  return decode?.(column) ?? `${column}${arrayOf ? `::${type}` : ''}`
}
