import type { Columns, RowToWrite, StoredRow } from './column-types.ts'
import { empty, type Queryable, raw, type Sql, sql } from '../sql.ts'
import { namesOf, type TableShape, unnest } from './table-shape.ts'

/** Reads the rows of one table. */
export interface TableReads<Of extends Columns, Key extends keyof Of & string> {
  /** Returns the rows with the values of `keys` in `columns` (default: the key), in any order. */
  readonly selectByKeys: <Column extends keyof Of & string = Key>(
    db: Queryable,
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
  readonly select: (db: Queryable, from: Sql) => Promise<StoredRow<Of>[]>
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

export function readsOf<Of extends Columns, Key extends keyof Of & string>(shape: TableShape): TableReads<Of, Key> {
  const { table, keyColumns, pick, valuesOf } = shape
  const columns = raw(
    shape.columns.map(({ name, property, select: read }) => `${read?.(name) ?? name} AS "${property}"`).join(),
  )
  const converted = shape.columns.flatMap(({ property, read }) => (read ? [{ property, read }] : []))

  const parse = (row: object): StoredRow<Of> => {
    const found = row as Record<string, unknown>
    for (const { property, read } of converted) {
      const value = found[property]
      if (value !== null) found[property] = read(value as never)
    }
    return found as StoredRow<Of>
  }

  const select: TableReads<Of, Key>['select'] = async (db, from) =>
    (await db.$queryRaw<object[]>(sql`SELECT ${columns} ${from}`)).map(parse)

  const lookUp: TableReads<Of, Key>['lookUp'] = (asked, { columns: properties, where, orderBy } = {}) => {
    const common = properties ? pick(properties) : keyColumns
    // `OFFSET 0` keeps Postgres from rewriting it as another join.
    return sql`(
      SELECT found.* FROM ${typeof asked === 'string' ? raw(asked) : unnest('asked', common, asked)},
      LATERAL (
        SELECT * FROM ${table} WHERE ${valuesOf(common)} = ${valuesOf(common, 'asked')}
        ${where ? sql`AND ${where}` : empty} ${orderBy ? sql`ORDER BY ${namesOf(pick([orderBy]))}` : empty} OFFSET 0
      ) AS found
    ) AS ${table}`
  }

  return {
    columns,
    parse,
    select,
    lookUp,
    selectByKeys: (db, keys, by) =>
      keys.length > 0 ? select(db, sql`FROM ${lookUp(keys, by && { columns: by })}`) : Promise.resolve([]),
    source: (alias, rows, properties) => unnest(alias, properties ? pick(properties) : keyColumns, rows),
  }
}
