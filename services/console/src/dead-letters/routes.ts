import { CAUSE_OF_ERASED, MAX_DECIDED_DEAD_LETTERS } from '@nextvisit/contracts'
import type { Input } from '../api-routes.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import { sessionFields } from '../http/app.ts'
import { formatCursor } from '../http/cursor.ts'
import { createForward } from '../http/forward.ts'
import type { Session } from '../http/sessions.ts'
import { maskFor } from '../http/mask.ts'
import { topicOf } from '../services.ts'
import { deadLettersApi } from './api.ts'
import { withVisibleCauses } from './visible-causes.ts'

const LETTERS_A_PAGE = 50

type HaltedRecord = Omit<Input<'setRecordAside'>, 'services'> & { readonly service: string }
type DecisionOfConsumer = Pick<Input<'decideDeadLetters'>, 'decision'> &
  Input<'decideDeadLetters'>['selections'][number]

export function createDeadLetterRoutes({ consumers, logger }: Pick<Dependencies, 'consumers' | 'logger'>) {
  const forward = createForward(consumers, (answer, session, input: { service: string; id?: string }) =>
    withVisibleCauses(answer, isVisible(input, session)),
  )
  const decide = forward(
    'decide',
    ({ decision, selected }: DecisionOfConsumer, { name: by }) => ({ decision, selected, by }),
    answered,
  )

  const setAside = forward(
    'setAside',
    ({ service, partition, offset }: HaltedRecord, { name: by }) => ({
      topic: topicOf(service),
      partition,
      offset,
      by,
    }),
    (done) =>
      done.outcome === 'refused' ? refuse(409, 'not-halted', `${done.reason} Nothing was done.`) : answered({}),
  )

  async function decideIn(input: DecisionOfConsumer, session: Session, signal: AbortSignal) {
    const decided = await decide(input, session, signal)
    if (decided.outcome === 'refused') return decided
    const { service, decision } = input
    const { count } = decided.answer
    logger.info(
      { action: 'dead letters decided', ...sessionFields(session), service, decision, count },
      'console action',
    )
    return decided
  }

  return serveApi(deadLettersApi, {
    listDeadLetters: forward(
      'list',
      ({ causeId, after }) => ({ causeId, after, limit: LETTERS_A_PAGE }),
      (page) => answered({ ...page, atOnce: MAX_DECIDED_DEAD_LETTERS }),
    ),
    readDeadLetter: forward(
      'read',
      (path, session) => ({ id: path.id, content: isVisible(path, session) ? 'bounded' : 'none' }),
      (letter) => answered({ ...letter, isErased: letter.cause === CAUSE_OF_ERASED }),
    ),
    revealDeadLetter: async (path, { revealed }) => {
      await revealed.add(nameOf(path))
      return answered({})
    },
    decideDeadLetters: async ({ decision, selections }, session, signal) => {
      const outcomes = await Promise.all(
        selections.map(async (selection) => ({
          service: selection.service,
          result: await decideIn({ ...selection, decision }, session, signal),
        })),
      )
      const [only] = outcomes
      if (only?.result.outcome === 'refused' && outcomes.length === 1) return only.result
      return answered({
        consumers: outcomes.map(({ service, result }) =>
          result.outcome === 'refused'
            ? { service, outcome: 'failed' as const, message: result.message }
            : { service, outcome: 'decided' as const, ...result.answer },
        ),
      })
    },
    readDecision: forward('readDecision', ({ decidedAt }) => ({ decidedAt }), answered),
    listDecidedDeadLetters: forward(
      'listDecided',
      ({ after }) => ({ after, limit: LETTERS_A_PAGE }),
      ({ letters, next }) => answered({ letters, next: next && formatCursor(next.decidedAt, next.id) }),
    ),
    readDeadLettersOfRecord: async (position, session, signal) => {
      const letters = Array.from(consumers, async ([service, { readAt }]) => {
        const found = await readAt(position, signal)
        const isAnswering = found.outcome === 'answered'
        return { service, isAnswering, letter: isAnswering ? found.answer.letter : null }
      })
      return answered(withVisibleCauses({ consumers: await Promise.all(letters) }, session.role === 'operator'))
    },
    setRecordAside: async ({ services, partition, offset }, session, signal) => {
      const outcomes = await Promise.all(
        services.map(async (service) => ({
          service,
          result: await setAside({ service, partition, offset }, session, signal),
        })),
      )
      const failed = outcomes.flatMap(({ service, result }) =>
        result.outcome === 'refused' ? [{ service, result, message: result.message }] : [],
      )
      const [first] = failed
      if (first && failed.length === outcomes.length) return first.result
      return answered({ failed: failed.map(({ service, message }) => ({ service, message })) })
    },
  })
}

/** Operators see everything; viewers see a dead letter that they have revealed. */
function isVisible({ service, id }: { readonly service: string; readonly id?: string }, session: Session): boolean {
  return !maskFor(session, id === undefined ? service : nameOf({ service, id })).isMasked
}

function nameOf({ service, id }: Input<'readDeadLetter'>): string {
  return `${service}/${id}`
}
