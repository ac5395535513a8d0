import type { Columns } from './column-types.ts'
import type { OnConflict } from './merge-rows.ts'
import { readsOf, type TableReads } from './read-rows.ts'
import { shapeOf } from './table-shape.ts'
import { type TableWrites, writesOf } from './write-rows.ts'

/** A row to write to a table: `NewRow<typeof users>`. */
export type NewRow<Of extends { readonly upsert: (rows: never) => unknown }> = Parameters<Of['upsert']>[0][number]

/** A row read from a table: `RowOf<typeof users>`. */
export type RowOf<Of extends { readonly parse: (row: object) => unknown }> = ReturnType<Of['parse']>

/**
 * Defines a table by its name, columns and key, and how an upsert changes the columns of an existing row: it replaces them
 * unless `onConflict` says otherwise. For a Prisma model: `defineTable(...User)`, with `User` from `generated/tables.ts`.
 * Columns with a default may be omitted. `key` is empty if Postgres generates the key.
 *
 * A statement's text depends only on the table, never on the number of rows, so a connection prepares it once. Its values are
 * one array per column. Rows are locked in the order of their keys, so two transactions that write the same rows of a table
 * cannot deadlock.
 */
export function defineTable<const Of extends Columns, const Key extends readonly (keyof Of & string)[]>(
  name: string,
  declared: Of,
  key: Key,
  onConflict: { readonly [Name in Exclude<keyof Of, Key[number]>]?: OnConflict<keyof Of & string> } = {},
): TableReads<Of, Key[number]> & TableWrites<Of, Key[number]> {
  const shape = shapeOf(name, declared, key)
  return { ...readsOf<Of, Key[number]>(shape), ...writesOf<Of, Key[number]>(shape, onConflict) }
}
