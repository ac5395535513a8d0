import { MAX_DECIDED_LETTERS } from '@nextvisit/contracts'
import type { Logger } from '@nextvisit/service-kit'
import { answered, type ApiRoute, apiRoute, refuse } from '../http/api-route.ts'
import { whoIs } from '../http/app.ts'
import { Nothing } from '../session/api.ts'
import { maskFor } from '../session/mask.ts'
import { withVisibleCause } from '../session/visible-cause.ts'
import {
  Decide,
  Decided,
  DecidedLettersAnswer,
  DecidedLettersQuery,
  DecisionPath,
  DecisionProgress,
  LetterAnswer,
  LetterPath,
  LettersAnswer,
  LettersOfRecord,
  LettersQuery,
  RecordPath,
  SetAsideInput,
} from './api.ts'
import type { DeadLetters } from './dead-letters.ts'

/** Dead letters of a consumer: look, retry, discard; and the record that halts a partition, set aside. */
export function createDeadLetterRoutes(letters: DeadLetters, logger: Logger): readonly ApiRoute[] {
  const list = apiRoute({
    method: 'GET',
    path: 'dead-letters/:service',
    role: 'viewer',
    input: LettersQuery,
    answer: LettersAnswer,
    handle: async (query, { role }) => {
      const page = await letters.list(query)
      if (page.outcome === 'refused') return page
      const visible = page.answer.letters.map((letter) => withVisibleCause(letter, role === 'operator'))
      return answered({ ...page.answer, letters: visible, atOnce: MAX_DECIDED_LETTERS })
    },
  })

  const read = apiRoute({
    method: 'GET',
    path: 'dead-letters/:service/:id',
    role: 'viewer',
    input: LetterPath,
    answer: LetterAnswer,
    handle: async (path, session) => {
      const isVisible = !maskFor(session, nameOf(path)).isMasked
      const letter = await letters.read(path, isVisible)
      return letter.outcome === 'refused' ? letter : answered(withVisibleCause(letter.answer, isVisible))
    },
  })

  const readAt = apiRoute({
    method: 'GET',
    path: 'records/:topic/:partition/:offset/dead-letters',
    role: 'viewer',
    input: RecordPath,
    answer: LettersOfRecord,
    handle: async (place, { role }) => {
      const { consumers } = await letters.readAt(place)
      return answered({
        consumers: consumers.map(({ letter, ...consumer }) => ({
          ...consumer,
          letter: letter && withVisibleCause(letter, role === 'operator'),
        })),
      })
    },
  })

  const listDecided = apiRoute({
    method: 'GET',
    path: 'decided-letters/:service',
    role: 'viewer',
    input: DecidedLettersQuery,
    answer: DecidedLettersAnswer,
    handle: async ({ service, after }, { role }) => {
      const page = await letters.listDecided(service, after)
      if (page.outcome === 'refused') return page
      const { next } = page.answer
      const visible = page.answer.letters.map((letter) => withVisibleCause(letter, role === 'operator'))
      return answered({ letters: visible, next: next && `${next.decidedAt},${next.id}` })
    },
  })

  const reveal = apiRoute({
    method: 'POST',
    path: 'dead-letters/:service/:id/reveal',
    role: 'viewer',
    input: LetterPath,
    answer: Nothing,
    logged: ({ service, id }) => ({ letter: `${service}/${id}` }),
    handle: (path, { revealed }) => {
      revealed.add(nameOf(path))
      return answered({})
    },
  })

  const decide = apiRoute({
    method: 'POST',
    path: 'dead-letters/:service/decide',
    role: 'operator',
    input: Decide,
    answer: Decided,
    logged: ({ service, decision, selected }) => ({
      service,
      decision,
      letters:
        selected.by === 'ids' ? selected.ids.join(', ') : `of cause ${selected.causeId}, up to ${selected.lastId}`,
    }),
    handle: async (asked, session) => {
      const decided = await letters.decide(asked, session.name)
      if (decided.outcome === 'refused') return decided
      const { service, decision } = asked
      const said = { action: 'dead letters decided', ...whoIs(session), service, decision, count: decided.answer.count }
      logger.info(said, 'console action')
      return decided
    },
  })

  const follow = apiRoute({
    method: 'GET',
    path: 'dead-letters/:service/decisions/:decidedAt',
    role: 'viewer',
    input: DecisionPath,
    answer: DecisionProgress,
    handle: async (path, { role }) => {
      const followed = await letters.follow(path)
      if (followed.outcome === 'refused') return followed
      const deadAgain = followed.answer.deadAgain.map((cause) => withVisibleCause(cause, role === 'operator'))
      return answered({ ...followed.answer, deadAgain })
    },
  })

  const setAside = apiRoute({
    method: 'POST',
    path: 'halts/:service/set-aside',
    role: 'operator',
    input: SetAsideInput,
    answer: Nothing,
    logged: ({ service, partition, offset }) => ({ service, partition: String(partition), offset }),
    handle: async (place, { name }) => {
      const asked = await letters.setAside(place, name)
      if (asked.outcome === 'refused') return asked
      if (asked.answer.outcome === 'refused')
        return refuse(409, 'not-halted', `${asked.answer.reason} Nothing was done.`)
      return answered({})
    },
  })

  return [list, read, readAt, listDecided, reveal, decide, follow, setAside]
}

function nameOf({ service, id }: LetterPath): string {
  return `${service}/${id}`
}
