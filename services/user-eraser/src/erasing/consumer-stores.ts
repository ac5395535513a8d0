import { erasedUserCalls, type ErasureStoreName } from '@nextvisit/contracts'
import { type CommitDb, sql } from '@nextvisit/database'
import { createCallClient, createInternalClient } from '@nextvisit/service-kit'
import type { WorkConfig } from '../config.ts'
import {
  haveFinished,
  isNews,
  noteFences,
  noteProgress,
  type NotedFence,
  type PendingErasure,
  readPending,
  type StoreProgress,
} from './running-erasures.ts'
import { createTurns } from './turns.ts'

const WITHIN_MS = 3_000

interface ConsumerStoresParts extends Pick<WorkConfig, 'services'> {
  readonly db: CommitDb
  readonly token: string
  readonly now: () => Date
}

/** Asks the consumers whether they have erased the users of running erasures, and notes the answers. */
export function createConsumerStores({ db, services, token, now }: ConsumerStoresParts) {
  const stores = Object.entries(services).map(([store, addresses]) =>
    createConsumerStore({
      db,
      store: store as ErasureStoreName & keyof typeof services,
      calls: createCallClient(erasedUserCalls, createInternalClient({ addresses, token, timeoutMs: WITHIN_MS })),
      now,
    }),
  )
  /** Returns true if a store has more to do at once. Rejects with the first error, after all have ended. */
  async function ask(): Promise<boolean> {
    const outcomes = await Promise.allSettled(stores.map((askStore) => askStore()))
    return outcomes.some((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    })
  }
  return { ask }
}

interface ConsumerStoreParts {
  readonly db: CommitDb
  readonly store: ErasureStoreName
  readonly calls: Pick<ReturnType<typeof createCallClient<typeof erasedUserCalls>>, 'readErasedUsers'>
  readonly now: () => Date
}

function createConsumerStore({ db, store, calls, now }: ConsumerStoreParts): () => Promise<boolean> {
  const turns = createTurns()
  const waitsForThis = sql`NOT ${haveFinished(store)} AND ${haveFinished('user-events')}`

  /** Asks one question. Returns true if it had no room for all erasures, and has finished some. */
  return async () => {
    const { erasureIds, hasMore } = await turns.next(db, waitsForThis)
    const pending = await readPending(db, store, erasureIds)
    const { progress, fences } = await readProgress(pending)
    // All consumers name the same places. Only one notes them, because concurrent updates could deadlock.
    if (store === 'user-projector') await noteFences(db, fences)
    const news = progress.filter((one, at) => isNews(pending[at], one))
    await noteProgress(db, store, news, now())
    return hasMore && news.some(({ isFinished }) => isFinished)
  }

  async function readProgress(
    pending: readonly PendingErasure[],
  ): Promise<{ readonly progress: readonly StoreProgress[]; readonly fences: readonly NotedFence[] }> {
    if (pending.length === 0) return { progress: [], fences: [] }
    const asked = pending.flatMap(({ organization, project, erasureId, users }) =>
      users.map(({ userId, offset }) => ({ organization, project, userId, erasureId, offset })),
    )
    const answered = await calls.readErasedUsers({ users: asked })
    if (answered.outcome !== 'answered') {
      const because = `${store} does not answer. It may be stopped.`
      const progress = pending.map(({ erasureId, rows }) => ({
        erasureId,
        rows: Number(rows),
        isFinished: false,
        because,
      }))
      return { progress, fences: [] }
    }
    const fences = answered.answer.users.flatMap(({ userId, fenceOffset }, at) => {
      const noted = asked[at]
      if (!noted || fenceOffset === null || fenceOffset === noted.offset) return []
      return [{ erasureId: noted.erasureId, userId, offset: fenceOffset }]
    })
    let from = 0
    const progress = pending.map(({ erasureId, users }) => {
      const own = answered.answer.users.slice(from, from + users.length)
      from += users.length
      const rows = own.reduce((sum, user) => sum + user.rows, 0)
      return { erasureId, rows, isFinished: own.length === users.length && own.every(({ isPassed }) => isPassed) }
    })
    return { progress, fences }
  }
}
