import type { deadLetterCalls } from '@nextvisit/contracts'
import type { Queryable } from '@nextvisit/database'
import { type Handlers, NOT_FOUND } from '@nextvisit/service-kit'
import {
  countDecided,
  countDead,
  decideDeadLetters,
  findMissing,
  findMissingRecords,
  readCausesOfDeadAgain,
} from './decide-dead-letters.ts'
import {
  readDeadLetter,
  readDeadLetterAt,
  readDeadLetterCauses,
  readDeadLettersOfKey,
  readOpenDeadLetters,
  readDecidedDeadLetters,
} from './read-dead-letters.ts'
import { requestSetAside } from './request-set-aside.ts'

/**
 * Answers calls about the dead letters of a projection: over HTTP in a consumer, in process in the CLI, which thus works while
 * the consumer is down. `db` is in the consumer's schema. The owner of a dead letter's partition carries out decisions.
 */
export function answerDeadLetters(projection: string, db: Queryable): Handlers<typeof deadLetterCalls> {
  return {
    readCauses: async (asked) => ({ groups: await readDeadLetterCauses(db, projection, asked) }),
    list: async ({ limit, ...asked }) => {
      const found = await readOpenDeadLetters(db, projection, { ...asked, limit: limit + 1 })
      const { letters, last } = pageOf(found, limit)
      return { letters, next: last?.id ?? null }
    },
    listDecided: async ({ after, limit }) => {
      const found = await readDecidedDeadLetters(db, projection, { after, limit: limit + 1 })
      const { letters, last } = pageOf(found, limit)
      return { letters, next: last?.decidedAt ? { decidedAt: last.decidedAt, id: last.id } : null }
    },
    read: async ({ id, content }) => (await readDeadLetter(db, projection, id, content)) ?? NOT_FOUND,
    readAt: async (position) => ({ letter: (await readDeadLetterAt(db, projection, position)) ?? null }),
    listOfKey: async ({ limit, ...asked }) => {
      const found = await readDeadLettersOfKey(db, projection, { ...asked, limit: limit + 1 })
      const { letters, last } = pageOf(found, limit)
      return { letters, next: last?.id ?? null }
    },
    preview: async ({ selected }) => ({
      dead: await countDead(db, projection, selected),
      missingIds: selected.by === 'ids' ? await findMissing(db, projection, selected.ids) : [],
      missingRecords: selected.by === 'records' ? await findMissingRecords(db, projection, selected.records) : [],
    }),
    decide: (asked) => decideDeadLetters(db, projection, asked),
    readDecision: async ({ decidedAt }) => {
      const [counts, deadAgain] = await Promise.all([
        countDecided(db, projection, decidedAt),
        readCausesOfDeadAgain(db, projection, decidedAt),
      ])
      return { ...counts, deadAgain }
    },
    setAside: ({ by, ...position }) => requestSetAside(db, projection, position, by),
  }
}

/** `last`: the last of the page, if another page follows. */
function pageOf<DeadLetter>(found: readonly DeadLetter[], limit: number) {
  const letters = found.slice(0, limit)
  return { letters, last: found.length > limit ? letters.at(-1) : undefined }
}
