import { HEADERS } from '@nextvisit/contracts'
import type { FetchedRecord } from '@nextvisit/log'
import type { NewDeadLetter } from './insert-dead-letters.ts'
import type { AnyFact, Recorded } from '../projection.ts'
import type { Core } from './core.ts'

interface DecodedFacts<Fact> {
  readonly recorded: readonly Recorded<Fact>[]
  readonly deadLetters: readonly NewDeadLetter[]
}

/** Returns the reason why a record becomes a dead letter although it can be decoded. */
export type DeadBecause = (record: FetchedRecord) => string | undefined

/** Decodes the records of several partitions at once, and separates those that become dead letters. Never throws for data. */
export async function decodeFacts<Fact extends AnyFact, Draft>(
  { projection, codec }: Pick<Core<Fact, Draft>, 'projection' | 'codec'>,
  batches: readonly { readonly records: readonly FetchedRecord[]; readonly deadBecause?: DeadBecause | undefined }[],
): Promise<readonly DecodedFacts<Fact>[]> {
  // An operator sets a record aside because its decoding may throw.
  const all = batches.flatMap(({ records, deadBecause }) =>
    deadBecause ? records.filter((record) => deadBecause(record) === undefined) : records,
  )
  const decoded = await codec.decode(projection.schema, all)
  let at = 0
  return batches.map(({ records, deadBecause }) => {
    const recorded: Recorded<Fact>[] = []
    const deadLetters: NewDeadLetter[] = []
    for (const record of records) {
      const reason = deadBecause?.(record)
      if (reason !== undefined) {
        deadLetters.push({ record, reason })
        continue
      }
      const result = decoded[at++]
      if (!result) throw new Error('The codec decoded fewer records than it was given')
      if (result.outcome === 'rejected') deadLetters.push({ record, reason: result.reason })
      else recorded.push(recordedOf(record, result.fact))
    }
    return { recorded, deadLetters }
  })
}

function recordedOf<Fact>(record: FetchedRecord, fact: Fact): Recorded<Fact> {
  const { topic, partition, offset, timestampMs, headers } = record
  const { [HEADERS.id]: id, [HEADERS.replyTo]: replyTo, [HEADERS.traceparent]: traceparent } = headers
  return { fact, topic, partition, offset, timestampMs, id, replyTo, traceparent }
}
