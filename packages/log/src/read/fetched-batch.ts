import { UndecodableBatchError } from '../errors.ts'
import { type BatchPart, type BatchPlace, type DecodeBounds, decodePart } from '../wire/decode-batch.ts'
import { dropDecompressed } from '../wire/decompress.ts'
import type { FetchedPartition } from '../wire/fetch-message.ts'
import { type FetchedRecord, omittedContent, recordTimeMs } from '../wire/fetched-record.ts'
import type { EncodedBatch } from '../wire/split-batches.ts'

/** Consecutive records of one partition. Offsets have gaps, so the batch carries the offset at which it begins. */
export interface FetchedBatch {
  readonly topic: string
  readonly partition: number
  readonly fetchedFrom: bigint
  /** One past the last offset of this batch. */
  readonly nextOffset: bigint
  readonly highWatermark: bigint
  readonly records: readonly FetchedRecord[]
  /** The request that fetched it, and batches of other partitions. Absent: it was not read by a group. */
  readonly fetch?: FetchTime | undefined
}

/** When a request was sent, and answered: `performance.now()` instants. */
export interface FetchTime {
  readonly beganAt: number
  readonly endedAt: number
}

interface DecodeOptions {
  readonly bounds: DecodeBounds
  /** True: an undecodable batch becomes one record. False: it ends the reading. */
  readonly withStandIns: boolean
}

/**
 * Decodes a fetched partition into batches of at most `bounds`, each once the previous one is handled. Each begins where the
 * previous one ended. After them, throws UndecodableBatchError if the rest cannot be decoded.
 */
export async function* fetchedBatches(
  fetched: Omit<FetchedPartition, 'errorCode'> & Pick<FetchedBatch, 'fetch'>,
  { bounds, withStandIns }: DecodeOptions,
): AsyncGenerator<FetchedBatch, void, undefined> {
  const { topic, partition, highWatermark, fetchedFrom, damage, fetch } = fetched
  let [begin, nextOffset, bytes] = [fetchedFrom, fetchedFrom, 0]
  let records: FetchedRecord[] = []

  /** Ends the present batch, and begins the next. Returns nothing if it is empty. */
  function take(): readonly FetchedBatch[] {
    const taken = { topic, partition, fetchedFrom: begin, nextOffset, highWatermark, records, fetch }
    ;[begin, bytes, records] = [nextOffset, 0, []]
    return taken.nextOffset > taken.fetchedFrom ? [taken] : []
  }

  function add(part: BatchPart): void {
    for (const record of part.records) records.push(record)
    bytes += part.bytes
    const last = part.records.at(-1)
    if (last) nextOffset = last.offset + 1n
  }

  for (const encoded of fetched.batches) {
    let place: BatchPlace | undefined
    try {
      for (;;) {
        const room = { maxRecords: bounds.maxRecords - records.length, maxBytes: bounds.maxBytes - bytes }
        const part = await decodePart(encoded, fetchedFrom, { place, room, bounds })
        if (part.outcome === 'undecodable') {
          const standIn = standInFor(encoded, nextOffset, part.error)
          if (!withStandIns || records.length >= bounds.maxRecords) yield* take()
          if (!withStandIns) throw standIn.undecodable.error
          records.push(standIn)
          break
        }
        if (part.outcome === 'decoded') {
          add(part)
          if (!part.next) break
          place = part.next
        }
        yield* take()
      }
    } finally {
      dropDecompressed(encoded.body) // also if the reader leaves, because its partition is revoked
    }
    nextOffset = encoded.lastOffset + 1n
  }
  nextOffset = fetched.nextOffset
  yield* take()
  if (damage) throw new UndecodableBatchError(topic, partition, nextOffset, { cause: damage })
}

/** Returns the record of an undecodable batch. Its headers name the batch and the cause. */
function standInFor(batch: EncodedBatch, nextOffset: bigint, cause: Error) {
  const { topic, partition, firstOffset, lastOffset, count, maxTimestampMs, body } = batch
  const offset = firstOffset > nextOffset ? firstOffset : nextOffset
  const error = new UndecodableBatchError(topic, partition, offset, { cause, lastOffset })
  const { headers, ...content } = omittedContent(error.message, body)
  const ofBatch = { 'omitted-offsets': `${offset}-${lastOffset}`, 'omitted-records': String(count) }
  const record = { topic, partition, offset, timestampMs: recordTimeMs(maxTimestampMs), ...content }
  return { ...record, headers: { ...headers, ...ofBatch }, undecodable: { error, lastOffset } }
}
