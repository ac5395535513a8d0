import { decodeRecord, HEADERS, SealedFormFact, SealedUserFact } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import type { ZodType } from 'zod'
import type { NewDeadLetter } from '../dead-letters/dead-letter-rows.ts'
import type { AnyFact, Projection, Recorded } from '../core/projection.ts'
import type { FoldParts } from './fold-parts.ts'
import { fenceRecords, holdsPersonalRows } from './fence-records.ts'
import { openRecords } from './open-records.ts'
import type { DecodedBatch, PartitionBatch } from './partition-batch.ts'

/**
 * Decodes the records of batches, marks those that an erasure covers, and opens the sealed members that the projection reads of the
 * others. May cut batches. Throws like these three.
 */
export async function decodeBatches<Fact extends AnyFact, Draft>(
  parts: FoldParts<Fact, Draft>,
  batches: readonly Pick<PartitionBatch, 'checkpoint' | 'records' | 'deadBecause'>[],
): Promise<readonly DecodedBatch<Fact>[]> {
  const schema = sealedSchemaOf(parts.projection)
  const decoded = batches.map((batch) => {
    const { checkpoint, records } = batch
    return { ...decodeFacts(schema, batch), checkpoint, records }
  })
  return openRecords(parts, await fenceRecords(parts, decoded))
}

/** Returns the schema of a projection's facts as they are in the log. Their keys decide whether an erasure covers them. */
export function sealedSchemaOf<Fact extends AnyFact>(
  projection: Pick<Projection<Fact, never>, 'schema' | 'fence' | 'opens' | 'evolve'>,
): ZodType<Fact> {
  const sealed: ZodType = projection.fence === 'QueueErased' ? SealedFormFact : SealedUserFact
  return projection.opens || holdsPersonalRows(projection) ? (sealed as ZodType<Fact>) : projection.schema
}

/**
 * Decodes the records of a batch, and separates those that become dead letters. Throws for the record of an undecodable
 * batch: only an operator sets it aside.
 */
export function decodeFacts<Fact>(
  schema: ZodType<Fact>,
  { records, deadBecause }: Pick<PartitionBatch, 'records' | 'deadBecause'>,
): DecodedBatch<Fact> {
  const recorded: Recorded<Fact>[] = []
  const deadLetters: NewDeadLetter[] = []
  for (const record of records) {
    // An operator sets a record aside because its decoding may throw.
    const reason = deadBecause?.(record)
    if (reason === undefined && record.undecodable) throw record.undecodable.error
    const decoded =
      reason === undefined
        ? decodeRecord(schema, record.value, record.headers)
        : ({ outcome: 'rejected', reason } as const)
    if (decoded.outcome === 'rejected') deadLetters.push({ record, reason: decoded.reason })
    else recorded.push(recordedOf(record, decoded.fact))
  }
  return { recorded, deadLetters }
}

function recordedOf<Fact>(record: FetchedRecord, fact: Fact): Recorded<Fact> {
  const { topic, partition, offset, timestampMs, headers } = record
  const { [HEADERS.id]: id, [HEADERS.replyTo]: replyTo, [HEADERS.traceparent]: traceparent } = headers
  return { fact, topic, partition, offset, timestampMs, id, replyTo, traceparent }
}
