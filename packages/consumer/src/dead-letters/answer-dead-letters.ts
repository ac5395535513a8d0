import type { deadLetterCalls } from '@nextvisit/contracts'
import type { Query } from '@nextvisit/database'
import { type Handlers, NOT_FOUND } from '@nextvisit/service-kit'
import {
  countDecided,
  countDead,
  decideDeadLetters,
  findMissing,
  readCausesOfDeadAgain,
} from './decide-dead-letters.ts'
import {
  readDeadLetter,
  readDeadLetterAt,
  readDeadLetterCauses,
  readDeadLettersOfCause,
  readDecidedDeadLetters,
} from './read-dead-letters.ts'
import { setAside } from './set-aside.ts'

/**
 * Answers calls about the dead letters of a projection: over HTTP in a consumer, in process in the CLI, which thus works while
 * the consumer is down. `query` runs in the consumer's schema. The owner of a dead letter's partition carries out decisions.
 */
export function answerDeadLetters(projection: string, query: Query): Handlers<typeof deadLetterCalls> {
  return {
    readCauses: async (asked) => ({ groups: await readDeadLetterCauses(query, projection, asked) }),
    list: async ({ limit, ...asked }) => {
      const found = await readDeadLettersOfCause(query, projection, { ...asked, limit: limit + 1 })
      const { letters, last } = pageOf(found, limit)
      return { letters, next: last?.id ?? null }
    },
    listDecided: async ({ after, limit }) => {
      const found = await readDecidedDeadLetters(query, projection, { after, limit: limit + 1 })
      const { letters, last } = pageOf(found, limit)
      return { letters, next: last?.decidedAt ? { decidedAt: last.decidedAt, id: last.id } : null }
    },
    read: async ({ id, content }) => (await readDeadLetter(query, projection, id, content)) ?? NOT_FOUND,
    readAt: async (position) => ({ letter: (await readDeadLetterAt(query, projection, position)) ?? null }),
    preview: async ({ selected }) => ({
      dead: await countDead(query, projection, selected),
      missingIds: selected.by === 'ids' ? await findMissing(query, projection, selected.ids) : [],
    }),
    decide: (asked) => decideDeadLetters(query, projection, asked),
    readDecision: async ({ decidedAt }) => {
      const [counts, deadAgain] = await Promise.all([
        countDecided(query, projection, decidedAt),
        readCausesOfDeadAgain(query, projection, decidedAt),
      ])
      return { ...counts, deadAgain }
    },
    setAside: ({ by, ...position }) => setAside(query, projection, position, by),
  }
}

/** `last`: the last of the page, if another page follows. */
function pageOf<DeadLetter>(found: readonly DeadLetter[], limit: number) {
  const letters = found.slice(0, limit)
  return { letters, last: found.length > limit ? letters.at(-1) : undefined }
}
