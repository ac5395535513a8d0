import type { Sql } from '@nextvisit/database'
import { outbox } from '../tables.ts'

/** A record to publish once its commit has succeeded. */
export interface OutboxRow {
  /** The partition of the record that caused it, whose owner publishes the row. */
  readonly partition: number
  readonly topic: string
  readonly key: string
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

/** Puts rows into the outbox, in this order. */
export function insertOutbox(rows: readonly OutboxRow[]): Sql[] {
  return outbox.insert(rows.map((row) => ({ ...row, headers: JSON.stringify(row.headers) })))
}
