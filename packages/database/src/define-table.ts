import { type Column, type Columns, type RowToWrite, type StoredRow, toColumns } from './column-types.ts'
import { mergedInSql, mergeRows, type MergeRules, type OnConflict, type TableRow } from './merge-rows.ts'
import { type Db, empty, join, raw, Sql, sql, type Statement } from './sql.ts'

/**
 * Reads and writes the rows of one table. A statement's text depends only on the table, never on the number of rows, so a
 * connection prepares it once. Its values are one array per column.
 *
 * Rows are locked in the order of their keys, so two transactions that write the same rows of a table cannot deadlock.
 */
export interface Table<Of extends Columns, Key extends keyof Of & string> {
  /**
   * Inserts rows, or merges them into existing ones ({@link defineTable}). Several rows with one key are merged in the same
   * way. Without rows there is no statement.
   */
  readonly upsert: (rows: readonly RowToWrite<Of>[], options?: UpsertOptions) => Statement[]
  /**
   * Upserts rows that may omit one column with long values. A row without it must exist and keeps its value, so unchanged
   * values are not sent. Each key only once, and only for a table whose columns are all replaced.
   */
  readonly upsertKeeping: <Long extends keyof Of & string>(
    long: Long,
    rows: readonly (RowToWrite<Omit<Of, Long>> & { readonly [Name in Long]: string | undefined })[],
  ) => Statement[]
  /** Inserts rows. Fails if one exists. If Postgres generates the key, rows are inserted in the given order. */
  readonly insert: (rows: readonly RowToWrite<Of>[]) => Statement[]
  /** Inserts missing rows. Existing ones are neither changed nor locked. */
  readonly insertMissing: (rows: readonly RowToWrite<Of>[]) => Statement[]
  /** Sets columns in existing rows. */
  readonly update: <Changed extends keyof Of & string>(
    rows: readonly RowToWrite<Pick<Of, Key | Changed>>[],
    changed: readonly Changed[],
  ) => Statement[]
  readonly deleteByKeys: (keys: readonly RowToWrite<Pick<Of, Key>>[]) => Statement[]
  /** Deletes the rows that meet a condition. */
  readonly deleteWhere: (condition: Sql) => Statement
  /** Returns the rows with the values of `keys` in `columns` (default: the key), in any order. */
  readonly selectByKeys: <Column extends keyof Of & string = Key>(
    db: Pick<Db, '$queryRaw'>,
    keys: readonly RowToWrite<Pick<Of, Column>>[],
    columns?: readonly Column[],
  ) => Promise<StoredRow<Of>[]>
  /**
   * Returns the same look-up as a part of a query, to select from under the table's name. `asked`: rows, or the name of
   * another table of the query. `where`: a condition on the table's own columns. Rows are looked up one by one in any plan;
   * Postgres prefers an index in the order of `orderBy`.
   */
  readonly lookUp: <Column extends keyof Of & string = Key>(
    asked: readonly RowToWrite<Pick<Of, Column>>[] | 'asked',
    options?: { readonly columns?: readonly Column[]; readonly where?: Sql; readonly orderBy?: keyof Of & string },
  ) => Sql
  /** Runs a query, given from its `FROM` on, and returns its rows. */
  readonly select: (db: Pick<Db, '$queryRaw'>, from: Sql) => Promise<StoredRow<Of>[]>
  /** Every column to select, under its property's name. */
  readonly columns: Sql
  /** Parses a selected row, also one from JSON. Changes the object. */
  readonly parse: (row: object) => StoredRow<Of>
  /**
   * Returns rows to join as the table `alias`, with `columns` (default: the key) and `position`, counted from 1. Not for
   * columns of lists or bytes.
   */
  readonly source: <Column extends keyof Of & string = Key>(
    alias: string,
    rows: readonly RowToWrite<Pick<Of, Column>>[],
    columns?: readonly Column[],
  ) => Sql
}

/** A row to write to a table: `NewRow<typeof users>`. */
export type NewRow<Of extends { readonly upsert: (rows: never) => unknown }> = Parameters<Of['upsert']>[0][number]

/** A row read from a table: `RowOf<typeof users>`. */
export type RowOf<Of extends { readonly parse: (row: object) => unknown }> = ReturnType<Of['parse']>

interface UpsertOptions {
  /** Condition on the rows to write, called `given`. Other rows are skipped and not locked. */
  readonly where?: Sql
}

/**
 * Defines a table by its name, columns and key, and how an upsert changes the columns of an existing row: it replaces them
 * unless `onConflict` says otherwise. For a Prisma model: `defineTable(...User)`, with `User` from `generated/tables.ts`.
 * Columns with a default may be omitted. `key` is empty if Postgres generates the key.
 */
export function defineTable<const Of extends Columns, const Key extends readonly (keyof Of & string)[]>(
  name: string,
  declared: Of,
  key: Key,
  onConflict: { readonly [Name in Exclude<keyof Of, Key[number]>]?: OnConflict<keyof Of & string> } = {},
): Table<Of, Key[number]> {
  const columns = toColumns(declared)
  const byProperty = new Map(columns.map((column) => [column.property, column]))
  const pick = (properties: readonly string[]): Column[] =>
    properties.flatMap((property) => byProperty.get(property) ?? [])
  const keyColumns = pick(key)
  const table = raw(`"${name}"`)
  const keyNames = namesOf(keyColumns)
  const ofKey = (alias: string): Sql => valuesAt(alias, keyColumns)
  const onKey = sql`ON CONFLICT (${keyNames})`
  const merging = sql`${onKey} DO UPDATE SET ${raw(mergedColumns(columns, key, onConflict))}`
  const selected = raw(
    columns.map(({ name: own, property, select }) => `${select?.(own) ?? own} AS "${property}"`).join(),
  )
  const read = columns.flatMap((column) => (column.read ? [{ ...column, read: column.read }] : []))

  const insertion = (rows: readonly TableRow[], where: Sql = empty, conflict: Sql = empty): Sql => sql`
    INSERT INTO ${table} AS known (${namesOf(columns)})
    SELECT ${castsOf(columns)} FROM ${unnest('given', columns, rows)} ${where}
    ORDER BY ${keyColumns.length > 0 ? keyNames : raw('position')} ${conflict}`

  const upsert = (rows: readonly TableRow[], { where }: UpsertOptions = {}): Statement[] =>
    rows.length > 0 ? [insertion(mergeRows(rows, key, onConflict), where && sql`WHERE ${where}`, merging)] : []

  const update = (rows: readonly TableRow[], changed: readonly string[]): Statement[] => {
    if (rows.length === 0) return []
    const moved = pick(changed)
    return [
      sql`
      WITH locked AS MATERIALIZED (
        SELECT given.* FROM ${table} JOIN ${unnest('given', [...keyColumns, ...moved], rows)} USING (${keyNames})
        ORDER BY ${keyNames} FOR NO KEY UPDATE OF ${table}
      )
      UPDATE ${table} SET ${raw(moved.map((column) => `${column.name} = ${castOf(column, 'locked.')}`).join(', '))}
      FROM locked WHERE ${ofKey(`"${name}"`)} = ${ofKey('locked')}`,
    ]
  }

  const deleteWhere: Table<Of, Key[number]>['deleteWhere'] = (condition) => sql`
    WITH locked AS MATERIALIZED (SELECT ${keyNames} FROM ${table} WHERE ${condition} ORDER BY ${keyNames} FOR UPDATE)
    DELETE FROM ${table} USING locked WHERE ${ofKey(`"${name}"`)} = ${ofKey('locked')}`

  const parse = (row: object): StoredRow<Of> => {
    const found = row as Record<string, unknown>
    for (const column of read) {
      const value = found[column.property]
      if (value !== null) found[column.property] = column.read(value as never)
    }
    return found as StoredRow<Of>
  }

  const lookUp: Table<Of, Key[number]>['lookUp'] = (asked, { columns: properties, where, orderBy } = {}) => {
    const common = properties ? pick(properties) : keyColumns
    // `OFFSET 0` keeps Postgres from rewriting it as another join.
    return sql`(
      SELECT found.* FROM ${typeof asked === 'string' ? raw(asked) : unnest('asked', common, asked)},
      LATERAL (
        SELECT * FROM ${table} WHERE ${valuesAt(`"${name}"`, common)} = ${valuesAt('asked', common)}
        ${where ? sql`AND ${where}` : empty} ${orderBy ? sql`ORDER BY ${namesOf(pick([orderBy]))}` : empty} OFFSET 0
      ) AS found
    ) AS ${table}`
  }

  const select: Table<Of, Key[number]>['select'] = async (db, from) =>
    (await db.$queryRaw<object[]>(sql`SELECT ${selected} ${from}`)).map(parse)

  return {
    columns: selected,
    parse,
    select,
    source: (alias, rows, properties) => unnest(alias, properties ? pick(properties) : keyColumns, rows),
    selectByKeys: (db, keys, columnNames) =>
      keys.length > 0
        ? select(db, sql`FROM ${lookUp(keys, columnNames && { columns: columnNames })}`)
        : Promise.resolve([]),
    lookUp,
    insert: (rows) => (rows.length > 0 ? [insertion(rows)] : []),
    insertMissing: (rows) => (rows.length > 0 ? [insertion(rows, empty, sql`${onKey} DO NOTHING`)] : []),
    upsert,
    upsertKeeping: (long, rows) => {
      const { whole = [], unchanged = [] } = Object.groupBy<'whole' | 'unchanged', TableRow>(rows, (row) =>
        row[long] === undefined ? 'unchanged' : 'whole',
      )
      const others = columns.map((column) => column.property).filter((one) => one !== long && !key.includes(one))
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

function mergedColumns(columns: readonly Column[], key: readonly string[], rules: MergeRules): string {
  const nameOf = (property: string): string => columns.find((column) => column.property === property)?.name ?? property
  const changes = columns.flatMap(({ property, name }) => {
    const rule = rules[property] ?? 'replace'
    return key.includes(property) || rule === 'keep' ? [] : `${name} = ${mergedInSql(name, rule, nameOf)}`
  })
  return changes.join(', ')
}

function unnest(alias: string, columns: readonly Column[], rows: readonly object[]): Sql {
  const arrays = columns.map(
    (column) => sql`${valuesOf(column, rows as readonly TableRow[])}::${raw(column.arrayOf ?? column.type)}[]`,
  )
  return sql`unnest(${join(arrays)}) WITH ORDINALITY AS ${raw(alias)} (${namesOf(columns)}, position)`
}

function valuesOf({ property, write }: Column, rows: readonly TableRow[]): unknown[] {
  if (!write) return rows.map((row) => row[property] ?? null)
  return rows.map((row) => {
    const value = row[property]
    return value === null || value === undefined ? null : write(value as never)
  })
}

function namesOf(columns: readonly Column[]): Sql {
  return raw(columns.map(({ name }) => name).join(', '))
}

/** Returns the columns' values as a row, to compare it with another. */
function valuesAt(alias: string, columns: readonly Column[]): Sql {
  return raw(`(${columns.map(({ name }) => `${alias}.${name}`).join(', ')})`)
}

function castsOf(columns: readonly Column[]): Sql {
  return raw(columns.map((column) => castOf(column)).join(', '))
}

/** Returns the SQL that converts a sent column to its type. */
function castOf({ name, arrayOf, type, decode }: Column, prefix = ''): string {
  const column = `${prefix}${name}`
  return decode?.(column) ?? `${column}${arrayOf ? `::${type}` : ''}`
}
