import type { SealedUserFact } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import { withLogAdmin } from '@nextvisit/log'
import type { KeyRing, WrappedKey } from '@nextvisit/sealing'
import { testKeyOf, testKeyRing } from '@nextvisit/testing'
import { expect, onTestFinished } from 'vitest'
import { readCheckpoint } from '../src/fold/checkpoint.ts'
import { createUserKeys, type UserKeys } from '../src/fold/user-keys.ts'
import { createPartitionFold, type PartitionFold } from '../src/partition/partition-fold.ts'
import { type GivenLog, PARTITIONS } from './given-log.ts'
import { givenFoldParts } from './given-visits.ts'
import { createVisitsProjection, type VisitsProjection } from './visits-projection.ts'

const PUBLISH_WITHIN_MS = 30_000

/** A topic of users' keys beside the log of a spec. */
export interface GivenKeys {
  readonly topic: string
  /** Publishes keys in order: of users, by their ids; or any value. */
  readonly publish: (
    ...keys: readonly (string | { readonly key: string; readonly value: string | null })[]
  ) => Promise<void>
  readonly destroy: (userId: string) => Promise<void>
  /** Creates the keys of another process. */
  readonly open: (own?: {
    readonly ring?: KeyRing
    readonly pullWithinMs?: number
    readonly topic?: string
  }) => UserKeys
}

/** `partitionOf`: where the keys of a user are; by default, in partition 0. */
export async function givenKeys(
  { topic: log, connection, publisher }: GivenLog,
  partitionOf: (userId: string) => number = () => 0,
): Promise<GivenKeys> {
  const topic = `${log}.keys`
  await withLogAdmin(connection, (admin) =>
    admin.createTopic(topic, { partitions: PARTITIONS, config: { 'cleanup.policy': 'compact' } }),
  )

  const publish: GivenKeys['publish'] = async (...keys) => {
    const records = keys.map((given) => {
      const record = typeof given === 'string' ? recordOf(testKeyOf(given).wrapped) : given
      return { topic, partition: partitionOf(record.key.slice(0, 36)), headers: {}, ...record }
    })
    for (let from = 0; from < records.length; from += 2_000) {
      const outcomes = await Promise.all(
        records
          .slice(from, from + 2_000)
          .map((record) => publisher.publish(record, performance.now() + PUBLISH_WITHIN_MS)),
      )
      expect(outcomes.filter(({ outcome }) => outcome !== 'published')).toEqual([])
    }
  }

  return {
    topic,
    publish,
    destroy: (userId) => publish({ ...recordOf(testKeyOf(userId).wrapped), value: null }),
    open: (own = {}) => {
      const readMarks = (of: string) => withLogAdmin(connection, (admin) => admin.watermarks(of))
      const keys = createUserKeys({ ring: testKeyRing, projection: 'visits', topic, connection, readMarks, ...own })
      onTestFinished(keys.stop)
      return keys
    },
  }
}

function recordOf({ userId, keyId, wrapped }: WrappedKey) {
  return { key: `${userId}/${keyId}`, value: wrapped }
}

/** Creates the example's projection, but with the name of each user whose identify it opens as the last event. */
export function createOpeningProjection(topic?: string): VisitsProjection {
  const visits = createVisitsProjection(topic)
  return {
    ...visits,
    opens: ({ type }: SealedUserFact) => type === 'IdentifyRequested',
    evolve: {
      ...visits.evolve,
      IdentifyRequested: ({ users }, { fact }) => {
        users.set(fact.userId, { count: 1 + (users.get(fact.userId)?.count ?? 0), lastEvent: fact.userName })
      },
    },
  }
}

/** Opens a fold of partition 0 that opens identifies. */
export async function givenOpeningFold(
  db: CommitDb,
  userKeys: UserKeys,
  onErased?: (erased: number) => void,
): Promise<PartitionFold> {
  const fold = createPartitionFold({
    ...givenFoldParts(db, createOpeningProjection()),
    userKeys,
    topic: 'user-events',
    partition: 0,
    onCommitted: ({ erased }) => onErased?.(erased),
  })
  await fold.open()
  return fold
}

/** Reads how far the keys of partition 0 are in the table. */
export async function readPosition(db: CommitDb, { topic }: GivenKeys): Promise<bigint | undefined> {
  return (await readCheckpoint(db, { projection: 'visits', topic, partition: 0 }))?.nextOffset
}
