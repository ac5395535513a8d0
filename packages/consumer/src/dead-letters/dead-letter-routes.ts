import {
  type DeadLetter,
  type DeadLetterAnswer,
  type DeadLetterAtAnswer,
  type DeadLetterCausesAnswer,
  type DeadLetterGroup,
  DeadLetterQuery,
  DeadLettersQuery,
  type DecidedAnswer,
  DecideDeadLetters,
  type DecidedLettersAnswer,
  DecidedLettersQuery,
  type DecisionAnswer,
  DecisionQuery,
  INTERNAL_ROUTES,
  type RecordContent,
  RecordPlace,
  SetAside,
  type SetAsideAnswer,
  type ShownText,
} from '@nextvisit/contracts'
import type { Query } from '@nextvisit/database'
import { type InternalRoute, internalRoute, notFound } from '@nextvisit/service-kit'
import { z } from 'zod'
import { askToSetAside } from './ask-to-set-aside.ts'
import { countDecided, decideDeadLetters, readCausesOfDeadAgain } from './decide-dead-letters.ts'
import {
  type DeadLetterCause,
  type DeadLetterSummary,
  MAX_KEY_BYTES,
  readDeadLetter,
  readDeadLetterAt,
  readDeadLetterCauses,
  readDeadLettersOfCause,
  readDecidedLetters,
  type WholeDeadLetter,
} from './read-dead-letters.ts'
import { escapeControls, readableBytes } from './readable-bytes.ts'

const MAX_GROUPS = 200
/** What is shown of a value. */
const MAX_VALUE_BYTES = 65_536
const MAX_HEADERS = 50
const MAX_HEADER_CHARACTERS = 1_000

/**
 * What operators may see and decide about dead letters. Every process answers for the whole service: the rows are in its
 * schema, and the owner of a letter's partition does what they say.
 */
export function createDeadLetterRoutes(projection: string, query: Query): readonly InternalRoute[] {
  const readCauses = internalRoute(
    INTERNAL_ROUTES.readDeadLetterCauses,
    z.object({}),
    async (): Promise<DeadLetterCausesAnswer> => {
      const causes = await readDeadLetterCauses(query, projection, { withSettled: false, limit: MAX_GROUPS })
      return { groups: causes.map(groupOf) }
    },
  )

  const list = internalRoute(INTERNAL_ROUTES.listDeadLetters, DeadLettersQuery, async ({ causeId, after, limit }) => {
    const letters = await readDeadLettersOfCause(query, projection, { causeId, after, limit: limit + 1 })
    const { page, last } = pageOf(letters, limit)
    return { letters: page, next: last?.id ?? null }
  })

  const listDecided = internalRoute(
    INTERNAL_ROUTES.listDecidedLetters,
    DecidedLettersQuery,
    async ({ after, limit }): Promise<DecidedLettersAnswer> => {
      const letters = await readDecidedLetters(query, projection, { after, limit: limit + 1 })
      const { page, last } = pageOf(letters, limit)
      return { letters: page, next: last?.decidedAt ? { decidedAt: last.decidedAt, id: last.id } : null }
    },
  )

  const readAt = internalRoute(
    INTERNAL_ROUTES.readDeadLetterAt,
    RecordPlace,
    async (place): Promise<DeadLetterAtAnswer> => {
      const letter = await readDeadLetterAt(query, { projection, ...place })
      return { letter: letter ? summaryOf(letter) : null }
    },
  )

  const read = internalRoute(INTERNAL_ROUTES.readDeadLetter, DeadLetterQuery, async ({ id, withContent }) => {
    const maxValueBytes = withContent ? MAX_VALUE_BYTES : 0
    const letter = await readDeadLetter(query, projection, id, { maxValueBytes })
    if (!letter) return notFound()
    const content = withContent ? contentOf(letter) : null
    return { ...summaryOf(letter), content } satisfies DeadLetterAnswer
  })

  const decide = internalRoute(
    INTERNAL_ROUTES.decideDeadLetters,
    DecideDeadLetters,
    async ({ selected, decision, by }): Promise<DecidedAnswer> => {
      const state = decision === 'retry' ? 'retry' : 'discarded'
      const { count, decidedAt } = await decideDeadLetters(query, projection, selected, { state, by })
      return { count, decidedAt: decidedAt?.toISOString() ?? null }
    },
  )

  const follow = internalRoute(
    INTERNAL_ROUTES.readDecision,
    DecisionQuery,
    async ({ decidedAt }): Promise<DecisionAnswer> => {
      const instant = new Date(decidedAt)
      const [counts, deadAgain] = await Promise.all([
        countDecided(query, projection, instant),
        readCausesOfDeadAgain(query, projection, instant),
      ])
      return { ...counts, deadAgain: [...deadAgain] }
    },
  )

  const setAside = internalRoute(
    INTERNAL_ROUTES.setAside,
    SetAside,
    ({ by, ...place }): Promise<SetAsideAnswer> => askToSetAside(query, { projection, ...place }, by),
  )

  return [readCauses, list, listDecided, read, readAt, decide, follow, setAside]
}

function groupOf({ oldest, newest, ...group }: DeadLetterCause): DeadLetterGroup {
  return { ...group, oldest: oldest.toISOString(), newest: newest.toISOString() }
}

/** `last`: of the page, where another one follows it. */
function pageOf(letters: readonly DeadLetterSummary[], limit: number) {
  const page = letters.slice(0, limit).map(summaryOf)
  return { page, last: letters.length > limit ? page.at(-1) : undefined }
}

function summaryOf(letter: DeadLetterSummary): DeadLetter {
  const { id, state, cause, causeId, topic, partition, offset, serviceVersion, decidedBy, valueBytes } = letter
  return {
    id,
    state,
    cause,
    causeId,
    topic,
    partition,
    offset,
    serviceVersion,
    decidedBy,
    valueBytes,
    recordTime: letter.recordTime.toISOString(),
    deadAt: letter.deadAt.toISOString(),
    decidedAt: letter.decidedAt?.toISOString() ?? null,
  }
}

function contentOf({ key, headers, value, valueBytes }: WholeDeadLetter): RecordContent {
  return {
    key: key && shownText(key, key.byteLength === MAX_KEY_BYTES),
    headers: Object.entries(headers)
      .slice(0, MAX_HEADERS)
      .map(([name, text]) => ({ name: shownHeader(name), value: shownHeader(text) })),
    value: value && shownText(value, (valueBytes ?? 0) > value.byteLength),
  }
}

function shownText(bytes: Uint8Array, isCut: boolean): ShownText {
  return { ...readableBytes(bytes, isCut), isCut }
}

function shownHeader(text: string): string {
  return escapeControls(text.slice(0, MAX_HEADER_CHARACTERS))
}
