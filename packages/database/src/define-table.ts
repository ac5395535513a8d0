import { type Column, type Columns, type RowToWrite, type StoredRow, toColumns } from './column-types.ts'
import { mergedInSql, mergeRows, type MergeRules, type OnConflict, type Row } from './merge-rows.ts'
import { type Db, empty, join, raw, Sql, sql, type Statement } from './sql.ts'

/**
 * One table's rows to SQL and back. A statement's text depends on the table alone, never on how many rows there are, so
 * every connection prepares it once; its values are an array for each column.
 *
 * Rows are locked in the order of their keys, whatever order they are given in: two transactions that write the same rows
 * of one table wait for each other, and never in a circle.
 */
export interface Table<Of extends Columns, Key extends keyof Of & string> {
  /**
   * Inserts rows, or merges them into those that are there (see {@link defineTable}). Several rows of a key are merged in
   * the same way. No statement for no rows.
   */
  readonly upsert: (rows: readonly RowToWrite<Of>[], options?: UpsertOptions) => Statement[]
  /**
   * Upserts rows that may leave out one column, whose values are long. A row without it is there already, and keeps its
   * value: what has not changed is not sent. Each key once, and only of a table whose columns are all replaced.
   */
  readonly upsertKeeping: <Long extends keyof Of & string>(
    long: Long,
    rows: readonly (RowToWrite<Omit<Of, Long>> & { readonly [Name in Long]: string | undefined })[],
  ) => Statement[]
  /** Inserts rows; fails where one is there. Where Postgres makes the key, they are inserted in the order given. */
  readonly insert: (rows: readonly RowToWrite<Of>[]) => Statement[]
  /** Inserts the rows that are not there yet. The others are neither changed nor locked. */
  readonly insertMissing: (rows: readonly RowToWrite<Of>[]) => Statement[]
  /** Sets these columns in the rows that are there. */
  readonly update: <Changed extends keyof Of & string>(
    rows: readonly RowToWrite<Pick<Of, Key | Changed>>[],
    changed: readonly Changed[],
  ) => Statement[]
  readonly deleteByKeys: (keys: readonly RowToWrite<Pick<Of, Key>>[]) => Statement[]
  /** Deletes the rows that a condition holds for. */
  readonly deleteWhere: (condition: Sql) => Statement
  /** The rows that have the same values as one of these in the columns named, else in the key; in any order. */
  readonly selectByKeys: <Column extends keyof Of & string = Key>(
    db: Pick<Db, '$queryRaw'>,
    keys: readonly RowToWrite<Pick<Of, Column>>[],
    columns?: readonly Column[],
  ) => Promise<StoredRow<Of>[]>
  /**
   * The same as a part of a query: to select from, as the table itself. `asked`: rows, or the name of another table of the
   * query. `where`: a condition on the table's own columns. Rows are looked up one by one, whatever plan Postgres makes; of
   * several indexes it prefers one that is in the order of `orderBy`.
   */
  readonly lookUp: <Column extends keyof Of & string = Key>(
    asked: readonly RowToWrite<Pick<Of, Column>>[] | 'asked',
    options?: { readonly columns?: readonly Column[]; readonly where?: Sql; readonly orderBy?: keyof Of & string },
  ) => Sql
  /** The rows of a query, given from its `FROM` on. */
  readonly select: (db: Pick<Db, '$queryRaw'>, from: Sql) => Promise<StoredRow<Of>[]>
  /** To select: every column, under its property's name. */
  readonly columns: Sql
  /** A selected row, also out of JSON. Changes the object it is given. */
  readonly parse: (row: object) => StoredRow<Of>
  /**
   * Rows to join, as the table `alias`: the columns named, else the key, and `position`, from 1 in the order given. Not
   * for columns that hold lists or bytes.
   */
  readonly source: <Column extends keyof Of & string = Key>(
    alias: string,
    rows: readonly RowToWrite<Pick<Of, Column>>[],
    columns?: readonly Column[],
  ) => Sql
}

/** A row that a table takes: `NewRow<typeof users>`. */
export type NewRow<Of extends { readonly upsert: (rows: never) => unknown }> = Parameters<Of['upsert']>[0][number]

/** A row that a table gives: `RowOf<typeof users>`. */
export type RowOf<Of extends { readonly parse: (row: object) => unknown }> = ReturnType<Of['parse']>

export interface UpsertOptions {
  /** Leaves out rows, called `given`, for which this does not hold. Those are not locked, either. */
  readonly where?: Sql
}

/**
 * Declares a table: its name, its columns, its key, and how an upsert changes the columns of a row that is there: it
 * replaces them unless `onConflict` says otherwise. Of a Prisma model: `defineTable(...User)`, with `User` from
 * `generated/tables.ts`. Columns that have a default may be left out. Where Postgres makes the key, `key` is empty.
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

  const insertion = (rows: readonly Row[], where: Sql = empty, conflict: Sql = empty): Sql => sql`
    INSERT INTO ${table} AS known (${namesOf(columns)})
    SELECT ${castsOf(columns)} FROM ${unnest('given', columns, rows)} ${where}
    ORDER BY ${keyColumns.length > 0 ? keyNames : raw('position')} ${conflict}`

  const upsert = (rows: readonly Row[], { where }: UpsertOptions = {}): Statement[] =>
    rows.length > 0 ? [insertion(mergeRows(rows, key, onConflict), where && sql`WHERE ${where}`, merging)] : []

  const update = (rows: readonly Row[], changed: readonly string[]): Statement[] => {
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
    // `OFFSET 0`: Postgres does not make another join of it.
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
      const { whole = [], unchanged = [] } = Object.groupBy<'whole' | 'unchanged', Row>(rows, (row) =>
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
    (column) => sql`${valuesOf(column, rows as readonly Row[])}::${raw(column.arrayOf ?? column.type)}[]`,
  )
  return sql`unnest(${join(arrays)}) WITH ORDINALITY AS ${raw(alias)} (${namesOf(columns)}, position)`
}

function valuesOf({ property, write }: Column, rows: readonly Row[]): unknown[] {
  if (!write) return rows.map((row) => row[property] ?? null)
  return rows.map((row) => {
    const value = row[property]
    return value === null || value === undefined ? null : write(value as never)
  })
}

function namesOf(columns: readonly Column[]): Sql {
  return raw(columns.map(({ name }) => name).join(', '))
}

/** Their values in one row, to compare it with another. */
function valuesAt(alias: string, columns: readonly Column[]): Sql {
  return raw(`(${columns.map(({ name }) => `${alias}.${name}`).join(', ')})`)
}

function castsOf(columns: readonly Column[]): Sql {
  return raw(columns.map((column) => castOf(column)).join(', '))
}

/** Of a column that travelled as another type. */
function castOf({ name, arrayOf, type, decode }: Column, prefix = ''): string {
  const column = `${prefix}${name}`
  return decode?.(column) ?? `${column}${arrayOf ? `::${type}` : ''}`
}
