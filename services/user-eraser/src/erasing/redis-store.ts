import type { ProjectRef } from '@nextvisit/contracts'
import { type CommitDb, sql } from '@nextvisit/database'
import { type createRedis, type RefusalStore } from '@nextvisit/service-kit'
import {
  haveFinished,
  isNews,
  noteProgress,
  OPEN_RECORDS,
  type PendingErasure,
  readPending,
  type StoreProgress,
} from './running-erasures.ts'
import { createTurns } from './turns.ts'

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
  const turns = createTurns()
  // Until both have finished, they may answer gateways with a key of the user, and gateways keep it in Redis.
  const waitsForThis = sql`NOT ${haveFinished(STORE)} AND ${haveFinished('user-events', ...OPEN_RECORDS)}`

  /** Returns the number of deleted copies by user. Rejects if Redis fails. */
  async function eraseUsers(project: ProjectRef, userIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const pipeline = redis.pipeline()
    for (const userId of userIds) pipeline.del(`${keyPrefix}user:${userId}`)
    const markers = ((await pipeline.exec()) ?? []).map(([error, deleted]) => {
      if (error) throw error
      return Number(deleted)
    })
    const refused = await refusals.erase(project, new Set(userIds), now().getTime())
    return new Map(userIds.map((userId, at) => [userId, (markers[at] ?? 0) + (refused.get(userId) ?? 0)]))
  }

  /** Returns true if a page had no room for all erasures, and Redis answers. */
  async function erase(): Promise<boolean> {
    const { erasureIds, hasMore } = await turns.next(db, waitsForThis)
    const pending = await readPending(db, STORE, erasureIds)
    let isAway = false
    for (const ofProject of Map.groupBy(pending, projectOf).values()) {
      const erased: readonly StoreProgress[] | undefined = isAway ? undefined : await eraseOfProject(ofProject)
      isAway = erased === undefined
      const progress = erased ?? ofProject.map(toAway)
      const news = progress.filter((one, at) => isNews(ofProject[at], one))
      await noteProgress(db, STORE, news, now())
    }
    return hasMore && !isAway
  }

  /** Erases the users of a project together, because each call reads all its refusals. undefined: Redis does not answer. */
  async function eraseOfProject(pending: readonly PendingErasure[]): Promise<readonly StoreProgress[] | undefined> {
    const [first] = pending
    if (!first) return []
    const userIds = new Set(pending.flatMap(({ users }) => users.map(({ userId }) => userId)))
    const erased = await eraseUsers(first, [...userIds]).catch(() => undefined)
    if (!erased) return undefined
    return pending.map(({ erasureId, rows, users }) => {
      // Two erasures of one user: the first one counts the copies.
      const deleted = users.filter(({ userId }) => userIds.delete(userId)).map(({ userId }) => erased.get(userId) ?? 0)
      return { erasureId, rows: deleted.reduce((sum, count) => sum + count, Number(rows)), isFinished: true }
    })
  }

  return { erase, eraseUsers }
}

function toAway({ erasureId, rows }: PendingErasure): StoreProgress {
  return { erasureId, rows: Number(rows), isFinished: false, because: REDIS_AWAY }
}

export function projectOf({ organization, project }: ProjectRef): string {
  return `${organization}/${project}`
}
