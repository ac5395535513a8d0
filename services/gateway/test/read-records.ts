import { HEADERS, openFact, SealedUserFact, type UserFact } from '@nextvisit/contracts'
import { type LogConnection, partitionForKey, readLog } from '@nextvisit/log'
import { type KeyRing, unwrapDataKey, type WrappedKey } from '@nextvisit/sealing'

/** Partitions of the topics of a spec. */
export const PARTITIONS = 3
const FROM_BEGINNING = new Map(Array.from({ length: PARTITIONS }, (_, partition) => [partition, 0n]))

export interface Recorded {
  /** The value of the record in the log. */
  readonly text: string
  readonly fact: UserFact
  readonly partition: number
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
}

/** Reads all records of a topic, and opens them. */
export async function readRecords(
  connection: LogConnection,
  topic: string,
  keyRing: KeyRing,
  readKeys: () => Promise<readonly PublishedKey[]>,
): Promise<readonly Recorded[]> {
  const sealed: (Omit<Recorded, 'fact'> & { readonly fact: SealedUserFact })[] = []
  await readLog(connection, {
    topic,
    from: FROM_BEGINNING,
    onBatch: (batch) => {
      for (const { value, key, partition, headers } of batch.records) {
        const text = value?.toString() ?? ''
        sealed.push({
          fact: SealedUserFact.parse(JSON.parse(text)),
          text,
          partition,
          key: key?.toString() ?? '',
          headers,
        })
      }
    },
    until: 'end',
  })
  // Afterwards: keys are in the log before their records.
  const userKeys = await readKeys()
  const records = sealed.map((record) => ({ ...record, fact: open(record.fact, keyRing, userKeys) }))
  for (const { fact, key, partition, headers } of records) {
    if (key !== fact.userId || partition !== partitionForKey(key, PARTITIONS) || headers[HEADERS.id] !== fact.id)
      throw new Error('A record is not where its user’s records belong')
  }
  return records
}

function open(fact: SealedUserFact, keyRing: KeyRing, userKeys: readonly PublishedKey[]): UserFact {
  const keyId = 'sealed' in fact ? fact.sealed?.key : undefined
  const stored = userKeys.find((one) => one.userId === fact.userId && one.keyId === keyId)
  const unwrapped = stored && unwrapDataKey(keyRing, stored)
  const opened = openFact(fact, (bytes, context) =>
    unwrapped?.outcome === 'unwrapped' ? unwrapped.key.open(bytes, context) : undefined,
  )
  if (opened.outcome === 'rejected') throw new Error(`A record does not open: ${opened.reason}`)
  return opened.fact
}

/** A key on the topic of users' keys. */
type PublishedKey = WrappedKey & { readonly partition: number }

/** Reads the published data keys of users, in the order of each partition. */
export async function readUserKeys(connection: LogConnection, topic: string): Promise<readonly PublishedKey[]> {
  const keys: PublishedKey[] = []
  await readLog(connection, {
    topic,
    from: FROM_BEGINNING,
    onBatch: (batch) => {
      for (const { value, key, partition } of batch.records) {
        const [userId = '', keyId = ''] = key?.toString().split('/') ?? []
        keys.push({ userId, keyId, wrapped: value?.toString() ?? '', partition })
      }
    },
    until: 'end',
  })
  return keys
}
