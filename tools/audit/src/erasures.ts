import { type FetchedRecord, type LogConnection, readLog, readWatermarks } from '@nextvisit/log'
import { type ClearFact, type QueueErased, type UserErased, userKey } from './facts.ts'
import { readFormFact, readUserFact } from './read-fact.ts'

/** The record of an erasure and its position. */
export interface Fence {
  readonly partition: number
  readonly offset: bigint
  /** In ms. */
  readonly keysUntilMs: number
  readonly fact: Erasure
}

type Erasure = UserErased | QueueErased

/** The fences of erased users on a topic, in its order. */
export interface Fences {
  /** Returns the fences of a user. `key`: see {@link userKey}. */
  readonly ofUser: (key: string) => readonly Fence[]
  /** Returns the fences of a userId in any project, which a record's Kafka key may be. */
  readonly ofUserId: (userId: string) => readonly Fence[]
  /** Returns all fences. Those of a user are in order. */
  readonly all: () => readonly Fence[]
  /** Receives the records of the log, in the order of each partition. */
  readonly see: (record: FetchedRecord) => void
}

const NONE: readonly Fence[] = []

/** Creates the fences of `user-events`, which are of the type `UserErased`, or those of `form-events`. */
export function createFences(type: Erasure['type'] = 'UserErased'): Fences {
  const byUser = new Map<string, Fence[]>()
  const byUserId = new Map<string, Fence[]>()

  return {
    ofUser: (key) => byUser.get(key) ?? NONE,
    all: () => [...byUser.values()].flat(),
    ofUserId: (userId) => byUserId.get(userId) ?? NONE,
    see: (record) => {
      // Parses few other records.
      if (!record.value?.includes(type)) return
      const reading = type === 'UserErased' ? readUserFact(record) : readFormFact(record)
      if (reading.outcome !== 'read' || !isErasure(reading.fact)) return
      const { fact } = reading
      const { partition, offset } = record
      const known = byUser.get(userKey(fact)) ?? NONE
      // The log may have further copies, which do nothing.
      if (known.some((fence) => fence.fact.id === fact.id)) return
      const fence = { partition, offset, keysUntilMs: Date.parse(fact.keysUntil), fact }
      byUser.set(userKey(fact), [...known, fence])
      byUserId.set(fact.userId, [...(byUserId.get(fact.userId) ?? []), fence])
    },
  }
}

function isErasure(fact: { readonly type: string }): fact is Erasure {
  return fact.type === 'UserErased' || fact.type === 'QueueErased'
}

/** Returns a function that reads fences, each time from its last position to the present end of the log. */
export function createFenceReader(connection: LogConnection, topic: string, fences: Fences): () => Promise<void> {
  const next = new Map<number, bigint>()
  return async () => {
    const partitions = [...(await readWatermarks(connection, topic)).keys()]
    await readLog(connection, {
      topic,
      from: new Map(partitions.map((partition) => [partition, next.get(partition) ?? 0n])),
      until: 'end',
      withStandIns: true,
      onBatch: ({ partition, records, nextOffset }) => {
        next.set(partition, nextOffset)
        records.forEach(fences.see)
      },
    })
  }
}

/** Returns whether a record at this offset no longer counts because of a fence (records.md, UserErased). */
export function isFenced(fact: ClearFact, offset: bigint, { offset: fence, keysUntilMs }: Fence): boolean {
  if (offset < fence) return true
  const sealed = 'sealed' in fact ? fact.sealed : undefined
  return sealed !== undefined && keyTimeMs(sealed.key) <= keysUntilMs
}

/** Returns the time in a UUIDv7, in ms. Other ids are older than every fence. */
export function keyTimeMs(key: string): number {
  const [, time = '', more = ''] = /^(.{8})-(.{4})-7/.exec(key) ?? []
  return time === '' ? 0 : Number.parseInt(time + more, 16)
}
