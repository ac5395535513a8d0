import type { Statement } from '@nextvisit/database'
import { outbox } from './tables.ts'

/** What must be published once its commit has succeeded. */
export interface OutboxRow {
  readonly topic: string
  readonly key: string
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

/** Puts rows into the outbox, in this order. Only in a commit: its fence says which partition they belong to. */
export function outboxStatements(rows: readonly OutboxRow[]): Statement[] {
  return outbox.insert(rows.map((row) => ({ ...row, headers: JSON.stringify(row.headers) })))
}
