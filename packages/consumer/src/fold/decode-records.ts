import { decodeRecord, HEADERS } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import type { ZodType } from 'zod'
import type { DeadLetter } from '../dead-letters/dead-letters.ts'
import type { Recorded } from '../projection.ts'

export interface DecodedRecords<Fact> {
  readonly recorded: readonly Recorded<Fact>[]
  readonly deadLetters: readonly DeadLetter[]
}

/** Returns the reason why a record becomes a dead letter although it can be decoded. */
export type DeadBecause = (record: FetchedRecord) => string | undefined

/** Decodes records, and separates those that become dead letters. Never throws for data. */
export function decodeRecords<Fact>(
  schema: ZodType<Fact>,
  records: readonly FetchedRecord[],
  deadBecause?: DeadBecause,
): DecodedRecords<Fact> {
  const recorded: Recorded<Fact>[] = []
  const deadLetters: DeadLetter[] = []
  for (const record of records) {
    const reason = deadBecause?.(record)
    if (reason !== undefined) {
      deadLetters.push({ record, reason })
      continue
    }
    const decoded = decodeRecord(schema, record.value, record.headers)
    if (decoded.outcome === 'rejected') {
      deadLetters.push({ record, reason: decoded.reason })
      continue
    }
    const { topic, partition, offset, timestampMs, headers } = record
    const { [HEADERS.id]: id, [HEADERS.replyTo]: replyTo, [HEADERS.traceparent]: traceparent } = headers
    recorded.push({ fact: decoded.fact, topic, partition, offset, timestampMs, id, replyTo, traceparent })
  }
  return { recorded, deadLetters }
}
