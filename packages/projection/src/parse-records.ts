import { decodeRecord, HEADERS } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import type { ZodType } from 'zod'
import type { DeadLetter } from './dead-letters.ts'
import type { Recorded } from './projection.ts'

export interface ParsedRecords<Fact> {
  readonly recorded: readonly Recorded<Fact>[]
  readonly deadLetters: readonly DeadLetter[]
}

/** Facts, and what holds none. Never throws. */
export function parseRecords<Fact>(schema: ZodType<Fact>, records: readonly FetchedRecord[]): ParsedRecords<Fact> {
  const recorded: Recorded<Fact>[] = []
  const deadLetters: DeadLetter[] = []
  for (const record of records) {
    const decoded = decodeRecord(schema, record.value, record.headers)
    if (decoded.outcome === 'rejected') {
      deadLetters.push({ record, reason: decoded.reason })
      continue
    }
    const { topic, partition, offset, timestampMs, headers } = record
    const [replyTo, traceparent] = [headers[HEADERS.replyTo], headers[HEADERS.traceparent]]
    recorded.push({ fact: decoded.fact, topic, partition, offset, timestampMs, replyTo, traceparent })
  }
  return { recorded, deadLetters }
}
