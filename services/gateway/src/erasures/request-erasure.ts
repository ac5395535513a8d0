import { setTimeout as sleep } from 'node:timers/promises'
import type { ErasureFact, ProjectRef, userProjectorCalls } from '@nextvisit/contracts'
import { isoInstant, keyTimeMs } from '@nextvisit/domain'
import type { PublishOutcome } from '@nextvisit/log'
import type { CallClient } from '@nextvisit/service-kit'
import type { ErasureView, RequestedErasure } from '@nextvisit/user-keys'
import type { UserEventPublisher } from '../publishing/user-event-publisher.ts'

/** How a fact on `erasures` is published. */
export interface ErasureDelivery {
  readonly deadlineAt: number
  readonly traceparent?: string | undefined
}

export type PublishErasure = (fact: ErasureFact, delivery: ErasureDelivery) => Promise<PublishOutcome>

interface RequestErasureParts {
  readonly userProjector: Pick<CallClient<typeof userProjectorCalls>, 'lookUpUsers'>
  readonly userEvents: Pick<UserEventPublisher, 'partitionOf'>
  readonly view: Pick<ErasureView, 'requested' | 'passes'>
  readonly publishErasure: PublishErasure
}

interface WantedErasure extends ErasureDelivery {
  readonly place: ProjectRef
  /** Distinct. */
  readonly userIds: readonly string[]
  readonly suppress: boolean
  readonly erasureId: string
  readonly receivedMs: number
}

/** `unknown`: the request may be in the log. */
export type ErasureOutcome =
  | { readonly outcome: 'published'; readonly erasure: RequestedErasure }
  | { readonly outcome: 'not-published' | 'unknown' }

/** A user projector that lags for a moment is asked again for so long, ms. Each time, it waits for half a second itself. */
const ASK_AGAIN_WITHIN_MS = 1_000
const ASK_AGAIN_AFTER_MS = 50
/** Of the time of the request, for the last question and the publish, ms. */
const KEPT_FOR_PUBLISH_MS = 1_000
/** Most readers have a record within milliseconds. An answer waits for this gateway's view at most so long. */
const OWN_VIEW_WITHIN_MS = 250
const NOT_PUBLISHED = { outcome: 'not-published' } as const

export type RequestErasure = ReturnType<typeof createRequestErasure>

/**
 * Creates the beginning of an erasure (decisions.md, Erasure): looks the users up, and publishes
 * `ErasureRequested`. A request that is in the log is not published again.
 */
export function createRequestErasure({ userProjector, userEvents, view, publishErasure }: RequestErasureParts) {
  /**
   * Returns the number of users without a profile, and the instant of the newest key; undefined if one of the users cannot be told.
   * Another gateway, whose clock is ahead, may have created that key.
   */
  async function lookUp({
    place,
    userIds,
    deadlineAt,
  }: WantedErasure): Promise<{ readonly unknown: number; readonly newestKeyMs: number } | undefined> {
    const { organization, project } = place
    const questions = userIds.flatMap((userId) => {
      const user = userEvents.partitionOf(userId)
      return user ? { organization, project, ...user } : []
    })
    if (questions.length < userIds.length) return undefined
    const giveUpAt = Math.min(deadlineAt - KEPT_FOR_PUBLISH_MS, performance.now() + ASK_AGAIN_WITHIN_MS)
    let left = questions
    let [missing, newestKeyMs] = [0, 0]
    for (;;) {
      const asked = await userProjector.lookUpUsers({ questions: left }, { deadlineAt })
      if (asked.outcome !== 'answered') return undefined
      const { answers } = asked.answer
      missing += answers.filter(({ existence }) => existence === 'missing').length
      newestKeyMs = Math.max(newestKeyMs, ...answers.map(({ key }) => (key ? keyTimeMs(key.keyId) : 0)))
      left = left.filter((_question, nth) => answers[nth]?.existence === 'unknown')
      if (left.length === 0) return { unknown: missing, newestKeyMs }
      if (performance.now() > giveUpAt) return undefined
      await sleep(ASK_AGAIN_AFTER_MS)
    }
  }

  return async (wanted: WantedErasure): Promise<ErasureOutcome> => {
    const { place, erasureId, userIds, suppress, receivedMs, deadlineAt, traceparent } = wanted
    const before = view.requested(place, erasureId)
    if (before) return { outcome: 'published', erasure: before }
    const found = await lookUp(wanted)
    if (found === undefined) return NOT_PUBLISHED
    const { unknown, newestKeyMs } = found
    const { organization, project } = place
    const received = isoInstant(receivedMs)
    const about = { organization, project, received, userIds: [...userIds], unknown, suppress }
    const newestKeyAt = newestKeyMs > receivedMs ? isoInstant(newestKeyMs) : undefined
    const fact = { type: 'ErasureRequested', id: erasureId, ...about, ...(newestKeyAt && { newestKeyAt }) } as const
    const published = await publishErasure(fact, { deadlineAt, traceparent })
    if (published.outcome !== 'published') return { outcome: published.outcome }
    // The caller's next request to this gateway finds the users suppressed.
    await view.passes(published.offset, OWN_VIEW_WITHIN_MS)
    return { outcome: 'published', erasure: { id: erasureId, users: userIds.length, unknown, received } }
  }
}

interface LiftSuppressionParts {
  readonly view: Pick<ErasureView, 'isSuppressed' | 'currentAsOfMs' | 'passes'>
  readonly publishErasure: PublishErasure
}

interface UnwantedSuppression extends ErasureDelivery {
  readonly place: ProjectRef
  readonly userId: string
  readonly id: string
  readonly receivedMs: number
}

export type LiftSuppression = ReturnType<typeof createLiftSuppression>

/** Creates the end of a suppression: publishes `SuppressionLifted`. `unknown`: the user is not suppressed. */
export function createLiftSuppression({ view, publishErasure }: LiftSuppressionParts) {
  return async (unwanted: UnwantedSuppression): Promise<'lifted' | 'unknown' | 'unavailable'> => {
    const { place, userId, id, receivedMs, deadlineAt, traceparent } = unwanted
    const { organization, project } = place
    if (view.currentAsOfMs() === 0) return 'unavailable'
    if (!view.isSuppressed({ organization, project, userId })) return 'unknown'
    const fact = {
      type: 'SuppressionLifted',
      id,
      organization,
      project,
      userId,
      received: isoInstant(receivedMs),
    } as const
    const published = await publishErasure(fact, { deadlineAt, traceparent })
    if (published.outcome !== 'published') return 'unavailable'
    await view.passes(published.offset, OWN_VIEW_WITHIN_MS)
    return 'lifted'
  }
}
