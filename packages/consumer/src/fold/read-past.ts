import type { FetchedRecord } from '@nextvisit/log'
import type { AnyFact, Past, Recorded } from '../core/projection.ts'
import type { PartitionCheckpoint } from './checkpoint.ts'
import { decodeFacts, sealedSchemaOf } from './decode-facts.ts'
import { markErased } from './fence-records.ts'
import type { FoldParts } from './fold-parts.ts'
import type { PastLog } from './past-log.ts'

/** Returns the folded records of a partition: see {@link Past}. */
export function readPast<Fact extends AnyFact, Draft>(
  { projection, db, pastLog }: Pick<FoldParts<Fact, Draft>, 'projection' | 'db' | 'pastLog'>,
  checkpoint: PartitionCheckpoint,
): Past<Fact> {
  const { partition } = checkpoint.key

  function requireLog(): PastLog {
    if (!pastLog) throw new Error(`${projection.name} reads records a second time, but was given no log`)
    return pastLog
  }

  async function fetchFolded(from: bigint, maxRecords: number, end: bigint) {
    const records: FetchedRecord[] = []
    let nextOffset = from
    while (nextOffset < end && records.length < maxRecords) {
      const batches = await requireLog().read(partition, nextOffset)
      const before = nextOffset
      for (const batch of batches) {
        for (const record of batch.records) if (record.offset >= from && record.offset < end) records.push(record)
        nextOffset = batch.nextOffset < end ? batch.nextOffset : end
      }
      // A new leader may not have these records yet.
      if (nextOffset === before) break
    }
    return { records, nextOffset }
  }

  return {
    readAgain: async (from, maxRecords) => {
      const { records, nextOffset } = await fetchFolded(from, maxRecords, checkpoint.current().nextOffset)
      const decoded = decodeFacts(sealedSchemaOf(projection), { records, deadBecause: undecodableBecause })
      const marked: readonly Recorded<Fact>[] = await markErased(projection, db, { ...decoded, checkpoint })
      return { records: marked, nextOffset }
    },
    offsetAt: (instantMs) => requireLog().offsetAt(partition, instantMs),
  }
}

function undecodableBecause({ undecodable }: FetchedRecord): string | undefined {
  return undecodable?.error.message
}
