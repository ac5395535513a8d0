import path from 'node:path'
import { catchUp, defineConsumer, type NotePublished, READ_BARRIER_WITHIN_MS, staleUnless } from '@nextvisit/consumer'
import { TOPICS, type UserErased } from '@nextvisit/contracts'
import { BEHIND, NOT_FOUND } from '@nextvisit/service-kit'
import packageJson from '../package.json' with { type: 'json' }
import { createProjection } from './projection.ts'
import { listErasures, readErasure, readInstallationKeys, readUnfinished } from './queries.ts'
import { erasureFacts } from './tables.ts'

/** Every consumer folds 1,000 erasures a second at most beside its other work. 100 rows are one request. */
const PAUSE_AFTER_100_FACTS_MS = 100

/**
 * Erases users: publishes the facts that make every consumer discard a user, destroys the keys of the user, and proves both
 * by a receipt. Its work beside the fold is in `erasing`.
 */
export const userEraser = defineConsumer({
  name: 'user-eraser',
  directory: path.resolve(import.meta.dirname, '..'),
  version: packageJson.version,
  schema: 'erasures',
  openDb: async (adapter) => new (await import('../generated/prisma/client.ts')).PrismaClient({ adapter }),
  projection: () => createProjection(),
  notePublished: noteFacts,
  outboxPauseMs: PAUSE_AFTER_100_FACTS_MS,

  // Requests and completions are in the log. The work between them is not.
  tables: {
    erasures: {
      carriedColumn: { column: 'keys_only', when: 'own.keys_only <> theirs.keys_only' },
      notCompared: {
        keys_only: 'the work between a request and its completion is not in the log. The live value is kept.',
      },
    },
    erasure_users: 'fold',
    erasure_facts: 'carried',
    erasure_stores: 'carried',
    erased_keys: 'carried',
    key_cursors: 'carried',
    installation_keys: 'carried',
  },

  calls: {
    readErasure: async (query, context) => {
      const isCaughtUp = await catchUp('all users', { ...context, withinMs: READ_BARRIER_WITHIN_MS })
      return (await readErasure(context.readDb, query, context.now())) ?? (isCaughtUp ? NOT_FOUND : BEHIND)
    },
    listErasures: async (query, context) => {
      const isCaughtUp = await catchUp('all users', { ...context, withinMs: READ_BARRIER_WITHIN_MS })
      return { ...(await listErasures(context.readDb, query, context.now())), ...staleUnless(isCaughtUp) }
    },
    readUnfinished: async (_question, { readDb, now }) => ({ erasures: await readUnfinished(readDb, now()) }),
    readInstallationKeys: async (_question, { readDb }) => (await readInstallationKeys(readDb)) ?? BEHIND,
  },
})

/**
 * Notes the places of the facts. A fact that was published twice has the later place, which consumers also pass, until a consumer names
 * the first one (`noteFences`). Without the note in the transaction that empties the outbox, a crash would lose the place.
 */
function noteFacts(published: Parameters<NotePublished>[0]): ReturnType<NotePublished> {
  const facts = published.flatMap(({ row, partition, offset }) => {
    if (row.topic !== TOPICS.userEvents) return []
    const { erasureId, userId } = JSON.parse(row.value) as UserErased
    return [{ erasureId, userId, partition, offset }]
  })
  return erasureFacts.upsert(facts)
}
