import { MAX_DECIDED_LETTERS } from '@nextvisit/contracts'
import type { Logger } from '@nextvisit/service-kit'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import { whoIs } from '../http/app.ts'
import { maskFor } from '../session/mask.ts'
import { withVisibleCause } from '../session/visible-cause.ts'
import { deadLettersApi, type LetterPath } from './api.ts'
import type { DeadLetters } from './dead-letters.ts'

export function createDeadLetterRoutes(letters: DeadLetters, logger: Logger) {
  return serveApi(deadLettersApi, {
    listDeadLetters: async (query, { role }) => {
      const page = await letters.list(query)
      if (page.outcome === 'refused') return page
      const visible = page.answer.letters.map((letter) => withVisibleCause(letter, role === 'operator'))
      return answered({ ...page.answer, letters: visible, atOnce: MAX_DECIDED_LETTERS })
    },
    readDeadLetter: async (path, session) => {
      const isVisible = !maskFor(session, nameOf(path)).isMasked
      const letter = await letters.read(path, isVisible)
      return letter.outcome === 'refused' ? letter : answered(withVisibleCause(letter.answer, isVisible))
    },
    revealDeadLetter: (path, { revealed }) => {
      revealed.add(nameOf(path))
      return answered({})
    },
    decideDeadLetters: async (asked, session) => {
      const decided = await letters.decide(asked, session.name)
      if (decided.outcome === 'refused') return decided
      const { service, decision } = asked
      const said = { action: 'dead letters decided', ...whoIs(session), service, decision, count: decided.answer.count }
      logger.info(said, 'console action')
      return decided
    },
    readDecision: async (path, { role }) => {
      const followed = await letters.follow(path)
      if (followed.outcome === 'refused') return followed
      const deadAgain = followed.answer.deadAgain.map((cause) => withVisibleCause(cause, role === 'operator'))
      return answered({ ...followed.answer, deadAgain })
    },
    listDecidedLetters: async ({ service, after }, { role }) => {
      const page = await letters.listDecided(service, after)
      if (page.outcome === 'refused') return page
      const { next } = page.answer
      const visible = page.answer.letters.map((letter) => withVisibleCause(letter, role === 'operator'))
      return answered({ letters: visible, next: next && `${next.decidedAt},${next.id}` })
    },
    readRecordLetters: async (place, { role }) => {
      const { consumers } = await letters.readAt(place)
      return answered({
        consumers: consumers.map(({ letter, ...consumer }) => ({
          ...consumer,
          letter: letter && withVisibleCause(letter, role === 'operator'),
        })),
      })
    },
    setRecordAside: async (place, { name }) => {
      const asked = await letters.setAside(place, name)
      if (asked.outcome === 'refused') return asked
      if (asked.answer.outcome === 'refused')
        return refuse(409, 'not-halted', `${asked.answer.reason} Nothing was done.`)
      return answered({})
    },
  })
}

function nameOf({ service, id }: LetterPath): string {
  return `${service}/${id}`
}
