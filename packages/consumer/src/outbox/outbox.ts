import type { Sql } from '@nextvisit/database'
import type { OutboxRow } from '../core/projection.ts'
import { outbox } from '../core/tables.ts'

/** Puts rows into the outbox, in this order. */
export function insertOutbox(rows: readonly OutboxRow[]): Sql[] {
  return outbox.insert(rows.map((row) => ({ ...row, headers: JSON.stringify(row.headers) })))
}
