import { erasedUserCalls, type ErasureStoreName } from '@nextvisit/contracts'
import type { CommitDb } from '@nextvisit/database'
import { createCallClient, createInternalClient } from '@nextvisit/service-kit'
import type { WorkConfig } from '../config.ts'
import { type ErasedUser, isNews, noteStore, type PendingErasure, readPending } from './running-erasures.ts'

const WITHIN_MS = 3_000
const USERS_A_CALL = 1_000

interface ConsumerStoresParts extends Pick<WorkConfig, 'services'> {
  readonly db: CommitDb
  readonly token: string
  readonly now: () => Date
}

/** Asks the consumers whether they have erased the users of running erasures, and notes the answers. */
export function createConsumerStores({ db, services, token, now }: ConsumerStoresParts) {
  const stores = Object.entries(services).map(([store, baseUrls]) =>
    createConsumerStore({
      db,
      store: store as ErasureStoreName & keyof typeof services,
      calls: createCallClient(erasedUserCalls, createInternalClient({ baseUrls, token, timeoutMs: WITHIN_MS })),
      now,
    }),
  )
  /** Rejects with the first error, after all have ended. */
  async function ask(): Promise<void> {
    const outcomes = await Promise.allSettled(stores.map((askStore) => askStore()))
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }
  return { ask }
}

interface ConsumerStoreParts {
  readonly db: CommitDb
  readonly store: ErasureStoreName
  readonly calls: Pick<ReturnType<typeof createCallClient<typeof erasedUserCalls>>, 'readErasedUsers'>
  readonly now: () => Date
}

function createConsumerStore({ db, store, calls, now }: ConsumerStoreParts): () => Promise<void> {
  let last: string | undefined

  return async () => {
    const pending = await readPending(db, store, last)
    last = pending.at(-1)?.erasureId
    for (const erasure of pending) {
      if (!erasure.isPublished) continue
      const found = await readErased(erasure)
      const progress = { erasureId: erasure.erasureId, store, ...found }
      if (isNews(erasure, progress)) await db.$executeRaw(noteStore(progress, now()))
    }
  }

  async function readErased({ organization, project, users, rows: noted }: PendingErasure) {
    let [rows, isFinished] = [0, true]
    for (const some of chunks(users)) {
      const asked = some.map(({ userId, offset }) => ({ organization, project, userId, offset }))
      const answered = await calls.readErasedUsers({ users: asked })
      if (answered.outcome !== 'answered')
        return { rows: Number(noted), isFinished: false, because: `${store} does not answer. It may be stopped.` }
      for (const user of answered.answer.users) {
        rows += user.rows
        isFinished &&= user.isPassed
      }
    }
    return { rows, isFinished }
  }
}

function chunks(users: readonly ErasedUser[]): readonly (readonly ErasedUser[])[] {
  return Array.from({ length: Math.ceil(users.length / USERS_A_CALL) }, (_, at) =>
    users.slice(at * USERS_A_CALL, (at + 1) * USERS_A_CALL),
  )
}
