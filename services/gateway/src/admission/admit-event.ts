import type { Claim, EventTracked, Unchecked } from '@nextvisit/contracts'
import { capOnNewEvents, chooseProperties, countsForOf, monthOf, type TrackBody } from '@nextvisit/domain'
import { REFUSALS, refuse } from '../api/refusals.ts'
import { type Admission, type AdmissionParts, commonFields, type ItemToAdmit, recordRefOf } from './admission.ts'

export type AdmitEvent = ReturnType<typeof createAdmitEvent>

/**
 * Creates the policy for tracked events, in this order: user exists (404), event disabled (400), the organization's
 * event limit (402), the project's cap on unique events (400). See decisions.md, Track event.
 */
export function createAdmitEvent({ knownUsers, metering, traitRegistry }: AdmissionParts) {
  /** `isIdentified`: true if an earlier item of the same batch identifies the user. */
  return async (item: ItemToAdmit<TrackBody>, isIdentified?: Promise<boolean>): Promise<Admission<EventTracked>> => {
    const { request, user } = item
    // Without the signature: with it, readers of the log could act as the user.
    const { userName, eventName, slug, occurredAt, evaluateTriggers, properties } = item.body
    const deadlineAt = request.admissionDeadlineAt
    const common = commonFields(item)
    const recordRef = recordRefOf(item)
    const { organization, project } = recordRef
    const unchecked: Unchecked[] = []

    const existence = (await isIdentified)
      ? 'exists'
      : await knownUsers.check({ organization, project, ...user }, deadlineAt)
    if (existence === 'missing') return refuse(REFUSALS.user)
    if (existence === 'crowded') return refuse(REFUSALS.busy)
    if (existence === 'unchecked') unchecked.push('user')

    if (request.project.disabledEvents.has(slug)) return refuse(REFUSALS.disabled)

    const { limit: cap, reason } = capOnNewEvents(request.project, request.key.entry, slug)
    const claim: Claim = { kind: 'event', ...recordRef, slugs: [slug], disabled: [], limit: cap }
    const limit = common.environment === 'P' ? request.project.plan.eventsPerMonth : undefined
    const reservation =
      limit === undefined
        ? undefined
        : ({ kind: 'event', ...recordRef, month: monthOf(common.received), limit } as const)
    const leased = reservation && metering.takeLeased(reservation)
    if (reservation && !leased) {
      // Events that the cap refuses must not take room from others.
      const isRefusedByCap = () => traitRegistry.isRefusedByCap(claim, deadlineAt)
      const reserved = await metering.reserveEvent(reservation, deadlineAt, isRefusedByCap)
      if (reserved === 'refused-by-cap') return refuse(REFUSALS[reason])
      if (reserved === 'exhausted') return refuse(REFUSALS.eventLimit)
      if (reserved === 'crowded') return refuse(REFUSALS.busy)
      if (reserved === 'unchecked') unchecked.push('event-limit')
    }
    // The services may have acted on unanswered calls, too.
    const release = (releaseDeadlineAt?: number) =>
      Promise.all([
        leased ? leased.giveBack(releaseDeadlineAt) : reservation && metering.release(recordRef, releaseDeadlineAt),
        traitRegistry.release(claim, releaseDeadlineAt),
      ])

    // A request with a key may repeat one that another gateway answered before Redis was emptied.
    const claimed = await traitRegistry.claim(claim, deadlineAt, common.keyed)
    const verdict = claimed.outcome === 'claimed' ? claimed.verdicts.get(slug) : undefined
    if (claimed.outcome === 'unchecked') unchecked.push('event-name')
    if (claimed.outcome === 'crowded' || verdict === 'no-room') {
      // Awaited, so that the caller's next request finds the room again.
      await release(request.deadlineAt)
      return refuse(verdict === 'no-room' ? REFUSALS[reason] : REFUSALS.busy)
    }

    const newEvent = verdict === 'new'
    const metered = common.environment === 'P'
    const said = chooseProperties(request.project, properties)
    const { received } = common
    return {
      outcome: 'admitted',
      fact: {
        type: 'EventTracked',
        ...common,
        userName,
        eventName,
        slug,
        occurredAt,
        evaluateTriggers,
        newEvent,
        metered,
        unchecked,
        ...said,
        ...countsForOf(request.project.config, { slug, received, properties: said.properties }),
        ...(leased && { lease: leased.lease }),
      },
      settle: async (published) => {
        if (published === 'published') traitRegistry.remember(claim, [slug])
        if (published === 'not-published') void release()
      },
    }
  }
}
