import { randomUUIDv7 } from 'node:crypto'
import type { gatewayCalls } from '@nextvisit/contracts'
import type { Handlers } from '@nextvisit/service-kit'
import type { ErasureView } from '@nextvisit/user-keys'
import type { ReadSuppressions } from './read-suppressions.ts'
import type { LiftSuppression, RequestErasure } from './request-erasure.ts'

/** Answers calls of operators (the command line and the console), who need no key. */
export function answerErasures({
  requestErasure,
  liftSuppression,
  readSuppressions,
  view,
}: {
  readonly requestErasure: RequestErasure
  readonly liftSuppression: LiftSuppression
  readonly readSuppressions: ReadSuppressions
  readonly view: Pick<ErasureView, 'isSuppressed' | 'keysUntilOf' | 'currentAsOfMs'>
}): Omit<Handlers<typeof gatewayCalls>, 'readRefusals'> {
  return {
    requestErasure: async (
      { organization, project, userIds, suppress, erasureId = randomUUIDv7() },
      { deadlineAt },
    ) => {
      const place = { organization, project }
      const receivedMs = Date.now()
      const distinct = [...new Set(userIds)]
      const wanted = { place, userIds: distinct, suppress, erasureId, receivedMs, deadlineAt }
      const requested = await requestErasure(wanted)
      if (requested.outcome !== 'published') return { outcome: 'unavailable', erasureId }
      const { users, unknown, received: requestedAt } = requested.erasure
      return { outcome: 'requested', erasureId, requestedAt, users, unknown }
    },
    readSuppressions: async (question, { deadlineAt }) => ({
      page: (await readSuppressions(question, deadlineAt)) ?? null,
    }),
    readKnownErasures: async ({ organization, project, userIds }) => {
      if (view.currentAsOfMs() === 0) return { users: null }
      const users = userIds.map((userId) => {
        const untilMs = view.keysUntilOf(userId)
        const isSuppressed = view.isSuppressed({ organization, project, userId })
        return { isSuppressed, ...(untilMs !== undefined && { keysUntil: new Date(untilMs).toISOString() }) }
      })
      return { users }
    },
    liftSuppression: async ({ organization, project, userId }, { deadlineAt }) => {
      const place = { organization, project }
      const outcome = await liftSuppression({ place, userId, id: randomUUIDv7(), receivedMs: Date.now(), deadlineAt })
      return { outcome }
    },
  }
}
