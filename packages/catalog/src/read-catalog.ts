import { readLog, type FetchedRecord, type LogConnection, withLogAdmin } from '@nextvisit/log'
import { CatalogTopicError } from './errors.ts'
import { type CatalogState, emptyCatalog, foldCatalog, foldUndecodable } from './fold-catalog.ts'
import { isFormContent, readCatalogRecord, undecodableBatchIn } from './read-catalog-record.ts'

export interface ReadCatalog {
  readonly state: CatalogState
  /** Ids of the records that counted. */
  readonly counted: ReadonlySet<string>
  /** Kafka keys of replaced records, by organization. */
  readonly replacedKeys: ReadonlyMap<string, readonly string[]>
}

interface ReadCatalogOptions {
  /** Holds the contents of forms. Default: false. */
  readonly withFormContents?: boolean
}

/**
 * Folds the catalog topic from its beginning to its end. Passes undecodable batches (`foldUndecodable`). Rejects with
 * {@link CatalogTopicError} if the topic does not exist.
 */
export async function readCatalog(
  connection: LogConnection,
  topic: string,
  { withFormContents = false }: ReadCatalogOptions = {},
): Promise<ReadCatalog> {
  await requireTopic(connection, topic)
  const state = emptyCatalog({ withFormContents })
  const counted = new Set<string>()
  const keys = createKeyLedger()
  const onRecord = (fetched: FetchedRecord): void => {
    const undecodable = undecodableBatchIn(fetched)
    if (undecodable) return foldUndecodable(state, undecodable)
    if (!withFormContents && isFormContent(fetched)) return
    const record = readCatalogRecord(fetched)
    const key = fetched.key?.toString('utf8') ?? ''
    if (record.outcome === 'tombstone') return keys.remove(key)
    const isCurrent = foldCatalog(state, record)
    if (record.outcome === 'skipped' || record.outcome === 'content') return
    keys.add(record.organization, key, isCurrent)
    if (isCurrent && record.outcome === 'read') counted.add(record.id)
  }
  const onBatch = ({ records }: { readonly records: readonly FetchedRecord[] }): void => records.forEach(onRecord)
  await readLog(connection, { topic, from: new Map([[0, 0n]]), onBatch, until: 'end', withStandIns: true })
  return { state, counted, replacedKeys: keys.replaced() }
}

/** Tracks the Kafka keys that still have a value, and each organization's current one. */
function createKeyLedger() {
  const organizations = new Map<string, string>()
  const current = new Map<string, string>()
  return {
    add: (organization: string, key: string, isCurrent: boolean): void => {
      organizations.set(key, organization)
      if (isCurrent) current.set(organization, key)
    },
    remove: (key: string): void => void organizations.delete(key),
    replaced: (): ReadonlyMap<string, readonly string[]> => {
      // Earlier releases used one key, without a revision, for all records of an organization.
      const old = [...organizations].filter(([key, of]) => key.startsWith(`${of}/`) && current.get(of) !== key)
      const byOrganization = Map.groupBy(old, ([, organization]) => organization)
      return new Map(Array.from(byOrganization, ([organization, found]) => [organization, found.map(([key]) => key)]))
    },
  }
}

async function requireTopic(connection: LogConnection, topic: string): Promise<void> {
  const partitions = await withLogAdmin(connection, (admin) => admin.partitionCount(topic))
  if (partitions !== 1) throw new CatalogTopicError(topic, partitions)
}
