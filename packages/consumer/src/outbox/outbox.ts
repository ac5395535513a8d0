import { encodeRecord, type SealedFormFact, TOPICS } from '@nextvisit/contracts'
import type { Sql } from '@nextvisit/database'
import type { OutboxRow } from '../core/projection.ts'
import { outbox } from '../core/tables.ts'

/** Puts rows into the outbox, in this order. */
export function insertOutbox(rows: readonly OutboxRow[]): Sql[] {
  return outbox.insert(rows.map((row) => ({ ...row, headers: JSON.stringify(row.headers) })))
}

/** A fact for `form-events`, and the partition of `user-events` whose owner publishes it. */
export interface FormFactToPublish {
  readonly fact: SealedFormFact
  readonly partition: number
  /** The trace of the record that caused it. Absent: time alone caused it. */
  readonly traceparent?: string | undefined
}

/** Returns outbox rows for facts of a writer, in the same order. `source`: the name of the consumer. */
export function formFactRows(source: string, facts: readonly FormFactToPublish[]): readonly OutboxRow[] {
  return facts.map(({ fact, partition, traceparent }) => ({
    partition,
    topic: TOPICS.formEvents,
    key: fact.userId,
    ...encodeRecord(fact, { source, time: fact.at, traceparent }),
  }))
}
