import type { Claim, EventTracked, Unchecked } from '@nextvisit/contracts'
import { capOnNewEvents, applyAllowListToProperties, countsForOf, monthOf, type TrackBody } from '@nextvisit/domain'
import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'
import {
  type AdmissionParts,
  type Admitted,
  commonFields,
  type ItemToAdmit,
  recordRefOf,
  releaseAll,
} from './admission.ts'
import type { Release } from './verdicts.ts'

/**
 * Applies the policy for tracked events, in this order: user exists (404), event disabled (400), the organization's
 * event limit (402), the project's cap on unique events (400). See decisions.md, Track event. `isIdentified`: true if an
 * earlier item of the same batch identifies the user.
 */
export async function admitEvent(
  { knownUsers, metering, traitRegistry }: AdmissionParts,
  item: ItemToAdmit<TrackBody>,
  isIdentified?: Promise<boolean>,
): Promise<Admitted<EventTracked> | Refusal> {
  const { request, user } = item
  const { slug } = item.body
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

  const cap = capOnNewEvents(request.project, request.key.entry, slug)
  const claim: Claim = { kind: 'event', ...recordRef, slugs: [slug], disabled: [], limit: cap.limit }
  // Events that the cap refuses must not take room from others.
  const isRefusedByCap = () => traitRegistry.isRefusedByCap(claim, deadlineAt)
  const reservation = reservationOf(item, common.received)
  const reserved =
    reservation &&
    (metering.takeLeased(reservation) ?? (await metering.reserveEvent(reservation, deadlineAt, isRefusedByCap)))
  if (reserved?.verdict === 'room') return refuse(REFUSALS[cap.reason])
  if (reserved?.verdict === 'no-room') return refuse(REFUSALS.eventLimit)
  if (reserved?.verdict === 'crowded') return refuse(REFUSALS.busy)
  if (reserved?.verdict === 'unchecked') unchecked.push('event-limit')

  const releaseName: Release = (releaseDeadlineAt) => traitRegistry.release(claim, releaseDeadlineAt)
  const acquired = reserved ? [reserved.release, releaseName] : [releaseName]
  // A request with a key may repeat one that another gateway answered before Redis was emptied.
  const claimed = await traitRegistry.claim(claim, deadlineAt, item.isKeyed)
  const verdict = typeof claimed === 'string' ? claimed : claimed.get(slug)
  if (verdict === 'unchecked') unchecked.push('event-name')
  if (verdict === 'crowded' || verdict === 'no-room') {
    // Awaited, so that the caller's next request finds the room again.
    await releaseAll(acquired, request.deadlineAt)
    return refuse(verdict === 'no-room' ? REFUSALS[cap.reason] : REFUSALS.busy)
  }
  return {
    outcome: 'admitted',
    fact: factOf(item, common, verdict === 'new', unchecked, reserved?.lease),
    conclude: async (published) => {
      if (published === 'published') traitRegistry.remember(claim, [slug])
      if (published === 'not-published') void releaseAll(acquired)
    },
  }
}

/** Returns the reservation of an event that counts against a limit. */
function reservationOf(item: ItemToAdmit<TrackBody>, received: string) {
  const { project, key } = item.request
  const limit = key.entry.environment === 'P' ? project.plan.eventsPerMonth : undefined
  if (limit === undefined) return undefined
  return { kind: 'event', ...recordRefOf(item), month: monthOf(received), limit } as const
}

/** The fact holds no signature: with it, readers of the log could act as the user. */
function factOf(
  { request, body }: ItemToAdmit<TrackBody>,
  common: ReturnType<typeof commonFields>,
  newEvent: boolean,
  unchecked: Unchecked[],
  lease: string | undefined,
): EventTracked {
  const { project } = request
  const { userName, eventName, slug, occurredAt, evaluateTriggers, properties } = body
  const { received, environment } = common
  const chosen = applyAllowListToProperties(project, properties)
  return {
    type: 'EventTracked',
    ...common,
    userName,
    eventName,
    slug,
    occurredAt,
    evaluateTriggers,
    newEvent,
    metered: environment === 'P',
    unchecked,
    ...chosen,
    ...countsForOf(project.config, { slug, received, properties: chosen.properties }),
    ...(lease !== undefined && { lease }),
  }
}
