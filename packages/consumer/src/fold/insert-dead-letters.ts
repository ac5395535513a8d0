import type { Statement } from '@nextvisit/database'
import type { FetchedRecord } from '@nextvisit/log'
import { recordTimeOf } from './checkpoint.ts'
import { deadLetters } from '../tables.ts'

/** A record that could not be parsed, or that an operator has set aside. */
export interface NewDeadLetter {
  readonly record: FetchedRecord
  /** The cause of the dead letter. */
  readonly reason: string
}

/** Returns statements that store records as dead letters, with the original bytes of key and value. */
export function insertDeadLetters(
  projection: string,
  serviceVersion: string,
  failed: readonly NewDeadLetter[],
): Statement[] {
  return deadLetters.insertMissing(
    failed.map(({ record, reason }) => ({
      ...record,
      projection,
      headers: JSON.stringify(record.headers),
      recordTime: recordTimeOf(record),
      reason,
      serviceVersion,
    })),
  )
}
