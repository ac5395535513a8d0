import { OrganizationConfigured, decodeRecord } from '@nextvisit/contracts'
import { createLogReader, type FetchedRecord, type LogConnection, withLogAdmin } from '@nextvisit/log'
import { CatalogTopicError } from './errors.ts'
import { type CatalogState, emptyCatalog, foldCatalog } from './fold-catalog.ts'

export interface ReadCatalog {
  readonly state: CatalogState
  /** The log's end as it was read. */
  readonly end: bigint
  /** Ids of the records that counted. */
  readonly counted: ReadonlySet<string>
}

/** Folds the catalog topic from its beginning to its end. Rejects with {@link CatalogTopicError} where it does not exist. */
export async function readCatalog(connection: LogConnection, topic: string): Promise<ReadCatalog> {
  await requireTopic(connection, topic)
  const state = emptyCatalog()
  const counted = new Set<string>()
  let end = 0n
  await createLogReader(connection).readFrom(
    topic,
    new Map([[0, 0n]]),
    (batch) => {
      for (const record of recordsOf(batch.records, () => {})) if (foldCatalog(state, record)) counted.add(record.id)
      end = batch.nextOffset
    },
    { until: 'end' },
  )
  return { state, end, counted }
}

/** The readable records. The others are reported to `onUnreadable` and skipped. */
export function recordsOf(
  records: readonly FetchedRecord[],
  onUnreadable: (offset: bigint, reason: string) => void,
): readonly OrganizationConfigured[] {
  return records.flatMap(({ offset, value, headers }) => {
    const decoded = decodeRecord(OrganizationConfigured, value, headers)
    if (decoded.outcome === 'ok') return [decoded.fact]
    onUnreadable(offset, decoded.reason)
    return []
  })
}

async function requireTopic(connection: LogConnection, topic: string): Promise<void> {
  const partitions = await withLogAdmin(connection, (admin) => admin.partitionCount(topic))
  if (partitions !== 1) throw new CatalogTopicError(topic, partitions)
}
