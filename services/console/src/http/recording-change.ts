import type { ChangeLog } from '@nextvisit/operator-changes'
import type { OperatorChangeActor } from '@nextvisit/contracts'
import type { Actor } from './actor.ts'
import { type ApiHandler, type ApiRoute, refuse } from './api-route.ts'

const NOT_RECORDED = refuse(
  503,
  'not-recorded',
  'Nothing was done: the change cannot be written to the topic operator-changes. Kafka does not answer, or the topic is missing. Try again.',
)

/**
 * Returns the handler of a route that writes its change to the log first, and the end of the change afterwards. If the log
 * cannot be written, it refuses and does nothing.
 */
export function recordingChange(
  { change, handle }: Pick<ApiRoute, 'change' | 'handle'>,
  changes: Pick<ChangeLog, 'record'>,
): ApiHandler<unknown, unknown> {
  if (!change) return handle
  return async (input, session, signal) => {
    const recorded = await changes.record(
      { actor: changeActorOf(session) },
      [change(input)],
      async () => handle(input, session, signal),
      (result) => {
        if (result.outcome !== 'answered')
          return { outcome: result.status < 500 ? 'refused' : 'failed', reason: result.error }
        const { details, failure: reason } = change(input, result.answer)
        return { outcome: reason === undefined ? 'made' : 'failed', reason, details }
      },
    )
    return recorded.outcome === 'recorded' ? recorded.result : NOT_RECORDED
  }
}

/** Returns a person of the console as the actor of a change. */
export function changeActorOf({ name, isVerified, subject }: Actor): OperatorChangeActor {
  const via = subject === null ? 'token' : 'openid'
  return { kind: 'console', name, isVerified, via, ...(subject !== null && { subject }) }
}
