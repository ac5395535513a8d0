import { type Column, type Columns, toColumns } from './column-types.ts'
import { join, raw, type Sql, sql } from '../sql.ts'

/** A table, as its statements are built from it. */
export interface TableShape {
  /** The quoted name. */
  readonly table: Sql
  readonly columns: readonly Column[]
  /** Empty if Postgres generates the key. */
  readonly keyColumns: readonly Column[]
  /** Returns the columns of these properties. */
  readonly pick: (properties: readonly string[]) => readonly Column[]
  /** Returns the values of these columns as a row, to compare it with another. Default: of the table itself. */
  readonly valuesOf: (columns: readonly Column[], alias?: string) => Sql
}

export function shapeOf(name: string, declared: Columns, key: readonly string[]): TableShape {
  const columns = toColumns(declared)
  const byProperty = new Map(columns.map((column) => [column.property, column]))
  const pick = (properties: readonly string[]) => properties.flatMap((property) => byProperty.get(property) ?? [])
  return {
    table: raw(`"${name}"`),
    columns,
    keyColumns: pick(key),
    pick,
    valuesOf: (of, alias = `"${name}"`) => raw(`(${of.map((column) => `${alias}.${column.name}`).join(', ')})`),
  }
}

export function namesOf(columns: readonly Column[]): Sql {
  return raw(columns.map(({ name }) => name).join(', '))
}

/** Returns rows as the table `alias`, with these columns and `position`, counted from 1. Each column is sent as one array. */
export function unnest(alias: string, columns: readonly Column[], rows: readonly object[]): Sql {
  const arrays = columns.map((column) => sql`${valuesIn(rows, column)}::${raw(column.arrayOf ?? column.type)}[]`)
  return sql`unnest(${join(arrays)}) WITH ORDINALITY AS ${raw(alias)} (${namesOf(columns)}, position)`
}

function valuesIn(rows: readonly object[], { property, write }: Column): unknown[] {
  return rows.map((row) => {
    const value = (row as Readonly<Record<string, unknown>>)[property] ?? null
    return write && value !== null ? write(value as never) : value
  })
}
