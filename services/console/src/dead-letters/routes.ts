import { MAX_DECIDED_DEAD_LETTERS, TOPICS } from '@nextvisit/contracts'
import type { Logger } from '@nextvisit/service-kit'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import { whoIs } from '../http/app.ts'
import { forwarder } from '../http/forward.ts'
import type { ConsumerCalls } from '../services.ts'
import { maskFor } from '../users/mask.ts'
import type { Session } from '../http/sessions.ts'
import { withVisibleCauses } from './visible-causes.ts'
import { deadLettersApi, type Decide, type DeadLetterPath } from './api.ts'

interface DeadLetterRoutesParts {
  readonly consumers: ReadonlyMap<string, ConsumerCalls>
  readonly logger: Logger
}

const LETTERS_A_PAGE = 50

export function createDeadLetterRoutes({ consumers, logger }: DeadLetterRoutesParts) {
  const forward = forwarder({
    services: consumers,
    mask: (answer, session, input) => withVisibleCauses(answer, isVisible(input, session)),
  })
  const decide = forward(
    'decide',
    ({ decision, selected }: Decide, { name: by }) => ({ decision, selected, by }),
    answered,
  )

  return serveApi(deadLettersApi, {
    listDeadLetters: forward(
      'list',
      ({ causeId, after }) => ({ causeId, after, limit: LETTERS_A_PAGE }),
      (page) => answered({ ...page, atOnce: MAX_DECIDED_DEAD_LETTERS }),
    ),
    readDeadLetter: forward(
      'read',
      (path, session) => ({ id: path.id, content: isVisible(path, session) ? 'bounded' : 'none' }),
      answered,
    ),
    revealDeadLetter: (path, { revealed }) => {
      revealed.add(nameOf(path))
      return answered({})
    },
    decideDeadLetters: async (asked, session) => {
      const decided = await decide(asked, session)
      if (decided.outcome === 'refused') return decided
      const { service, decision } = asked
      const { count } = decided.answer
      logger.info({ action: 'dead letters decided', ...whoIs(session), service, decision, count }, 'console action')
      return decided
    },
    readDecision: forward('readDecision', ({ decidedAt }) => ({ decidedAt }), answered),
    listDecidedLetters: forward(
      'listDecided',
      ({ after }) => ({ after, limit: LETTERS_A_PAGE }),
      ({ letters, next }) => answered({ letters, next: next && `${next.decidedAt},${next.id}` }),
    ),
    readRecordLetters: async (position, session) => {
      const asked = Array.from(consumers, async ([service, { readAt }]) => {
        const found = await readAt(position)
        const isAnswering = found.outcome === 'answered'
        return { service, isAnswering, letter: isAnswering ? found.answer.letter : null }
      })
      return answered(withVisibleCauses({ consumers: await Promise.all(asked) }, session.role === 'operator'))
    },
    setRecordAside: forward(
      'setAside',
      ({ partition, offset }, { name: by }) => ({ topic: TOPICS.userEvents, partition, offset, by }),
      (done) =>
        done.outcome === 'refused' ? refuse(409, 'not-halted', `${done.reason} Nothing was done.`) : answered({}),
    ),
  })
}

/** Operators see everything; viewers see a letter that they have revealed. */
function isVisible(input: { readonly service: string; readonly id?: string }, session: Session): boolean {
  const { service, id } = input
  return !maskFor(session, id === undefined ? service : nameOf({ service, id })).isMasked
}

function nameOf({ service, id }: DeadLetterPath): string {
  return `${service}/${id}`
}
