import {
  decodeRecord,
  ErasureFact,
  SealedFormFact,
  SealedUserFact,
  TOPICS,
  USER_KEYS_TOPIC,
} from '@nextvisit/contracts'
import { isFencedKey } from '@nextvisit/domain'
import { type FetchedRecord, type LogConnection, readLog, withLogAdmin } from '@nextvisit/log'

/** Topics of records about users, and of what is needed to show them. Specs use their own. */
export type RecordTopics = Readonly<Record<'userEvents' | 'formEvents' | 'erasures' | 'userKeys', string>>

export const RECORD_TOPICS: RecordTopics = { ...TOPICS, userKeys: USER_KEYS_TOPIC }

interface ReadFencesOptions {
  readonly connection: LogConnection
  readonly topics?: Omit<RecordTopics, 'userKeys'>
  /** Reads the fences in this topic. */
  readonly of: 'userEvents' | 'formEvents'
  /** Default: of every user. */
  readonly userId?: string
}

/** The first copy of an erasure's record about a user: `UserErased`, or `QueueErased` on `form-events`. */
export interface FenceInLog {
  readonly partition: number
  readonly offset: bigint
  /** Keys that were created until this instant are fenced, ms since the epoch. */
  readonly keysUntilMs: number
  /** Time of the request. */
  readonly at: string
  /** On form-events: the offset of the `UserErased`. Absent: unknown. */
  readonly causeOffset?: number | undefined
}

/** The last fence of each erased user in a topic. */
export interface Fences {
  readonly ofUser: (userId: string) => FenceInLog | undefined
  /**
   * Returns whether an erasure covers a record of the topic (decision 18, The fence rule). A record with the user's Kafka key counts
   * as the user's, whatever its value is: another program may have written it.
   */
  readonly isErased: (record: Pick<FetchedRecord, 'partition' | 'offset' | 'key'>, value: unknown) => boolean
}

/** Search margin in ms before the first request, because processes set timestamps by their own clocks. */
const DISORDER_MS = 3_600_000

/**
 * Reads the fences that a topic contains now. Without erasures it reads only the topic `erasures`; otherwise the records since
 * the first request, of which it parses few.
 */
export async function readFences({
  connection,
  topics = RECORD_TOPICS,
  of,
  userId,
}: ReadFencesOptions): Promise<Fences> {
  const firstMs = await readFirstRequestMs(connection, topics.erasures, userId)
  const last = new Map<string, FenceInLog>()
  if (firstMs === undefined) return fencesOf(last)
  const topic = topics[of]
  const from = await withLogAdmin(connection, (admin) => admin.offsetsAt(topic, firstMs - DISORDER_MS))
  const seen = new Set<string>()
  await readLog(connection, {
    topic,
    from,
    until: 'end',
    withStandIns: true,
    onBatch: ({ records }) => {
      for (const record of records) {
        const fence = fenceIn(record)
        if (!fence || seen.has(fence.id) || (userId !== undefined && fence.userId !== userId)) continue
        seen.add(fence.id)
        last.set(fence.userId, fence)
      }
    },
  })
  return fencesOf(last)
}

/** Returns the time of the first request to erase anybody, or this user; undefined: there is none. */
async function readFirstRequestMs(
  connection: LogConnection,
  topic: string,
  userId: string | undefined,
): Promise<number | undefined> {
  let firstMs: number | undefined
  await readLog(connection, {
    topic,
    from: new Map([[0, 0n]]),
    until: 'end',
    withStandIns: true,
    onBatch: ({ records }) => {
      for (const { value, headers, timestampMs } of records) {
        const decoded = decodeRecord(ErasureFact, value, headers)
        if (decoded.outcome === 'rejected' || decoded.fact.type !== 'ErasureRequested') continue
        if (userId !== undefined && !decoded.fact.userIds.includes(userId)) continue
        firstMs = Math.min(firstMs ?? Infinity, timestampMs, Date.parse(decoded.fact.received))
      }
    },
  })
  return firstMs
}

function fenceIn({ partition, offset, value, headers }: FetchedRecord) {
  if (value?.includes('UserErased')) {
    const decoded = decodeRecord(SealedUserFact, value, headers)
    if (decoded.outcome === 'rejected' || decoded.fact.type !== 'UserErased') return undefined
    const { id, userId, received: at, keysUntil } = decoded.fact
    return { id, userId, partition, offset, at, keysUntilMs: Date.parse(keysUntil) }
  }
  if (value?.includes('QueueErased')) {
    const decoded = decodeRecord(SealedFormFact, value, headers)
    if (decoded.outcome === 'rejected' || decoded.fact.type !== 'QueueErased') return undefined
    const { id, userId, at, keysUntil, causeOffset } = decoded.fact
    return { id, userId, partition, offset, at, keysUntilMs: Date.parse(keysUntil), causeOffset }
  }
  return undefined
}

function fencesOf(last: ReadonlyMap<string, FenceInLog>): Fences {
  const isErasedFor = (
    userId: unknown,
    { partition, offset }: Pick<FetchedRecord, 'partition' | 'offset'>,
    value: unknown,
  ) => {
    const fence = typeof userId === 'string' ? last.get(userId) : undefined
    if (!fence) return false
    const changedAt = fence.causeOffset === undefined ? undefined : causeOfMembership(value)
    if (changedAt !== undefined) return changedAt < Number(fence.causeOffset)
    if (partition === fence.partition && offset < fence.offset) return true
    const key = sealedKeyOf(value)
    return key !== undefined && isFencedKey(key, fence)
  }
  return {
    ofUser: (userId) => last.get(userId),
    isErased: (record, value) =>
      last.size > 0 &&
      (isErasedFor(record.key?.toString('utf8'), record, value) ||
        isErasedFor(memberOf(value, 'userId'), record, value)),
  }
}

/** Returns `causeOffset` of a changed membership, which another publisher than that of the fence has written: either may be first. */
function causeOfMembership(value: unknown): number | undefined {
  const [type, offset] = [memberOf(value, 'type'), memberOf(value, 'causeOffset')]
  return (type === 'SegmentEntered' || type === 'SegmentLeft') && typeof offset === 'number' ? offset : undefined
}

function sealedKeyOf(value: unknown): string | undefined {
  const key = memberOf(memberOf(value, 'sealed'), 'key')
  return typeof key === 'string' ? key : undefined
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
