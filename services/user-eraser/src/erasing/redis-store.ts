import type { ProjectRef } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import { type createRedis, type RefusalStore } from '@nextvisit/service-kit'
import { isNews, noteStore, OPEN_RECORDS, readFinished, readPending } from './running-erasures.ts'

const STORE = 'redis'
export const REDIS_AWAY = 'Redis does not answer.'

interface RedisStoreParts {
  readonly db: CommitDb
  readonly redis: ReturnType<typeof createRedis>['client']
  readonly refusals: Pick<RefusalStore, 'erase'>
  /** Default: `nextvisit:`. */
  readonly redisPrefix?: string | undefined
  readonly now: () => Date
}

/** Deletes copies in Redis: the gateways' markers of users, which contain their keys, and refusals. */
export function createRedisStore({ db, redis, refusals, redisPrefix: keyPrefix = 'nextvisit:', now }: RedisStoreParts) {
  let last: string | undefined

  /** Returns the number of deleted copies. Rejects if Redis fails. */
  async function eraseUsers(project: ProjectRef, userIds: readonly string[]): Promise<number> {
    const markers = await redis.del(...userIds.map((userId) => `${keyPrefix}user:${userId}`))
    return markers + (await refusals.erase(project, new Set(userIds), now().getTime()))
  }

  /** Deletes in each round until the store has finished: a gateway that does not know of the erasure yet may write again. */
  async function erase(): Promise<void> {
    const pending = await readPending(db, STORE, last)
    last = pending.at(-1)?.erasureId
    const finished = await readFinished(
      db,
      pending.map(({ erasureId }) => erasureId),
    )
    for (const erasure of pending) {
      if (!erasure.isPublished) continue
      const { erasureId, users } = erasure
      const others = finished.get(erasureId)
      // Until then, they may answer gateways with a key of the user, and gateways keep it in Redis.
      const areKeysGone = OPEN_RECORDS.every((store) => others?.has(store))
      const deleted = await eraseUsers(
        erasure,
        users.map(({ userId }) => userId),
      ).catch(() => undefined)
      const rows = Number(erasure.rows) + (deleted ?? 0)
      const isFinished = areKeysGone && deleted !== undefined
      const progress = {
        erasureId,
        store: STORE,
        rows,
        isFinished,
        ...(deleted === undefined && { because: REDIS_AWAY }),
      } as const
      if (isNews(erasure, progress)) await db.$executeRaw(noteStore(progress, now()))
    }
  }

  return { erase, eraseUsers }
}
