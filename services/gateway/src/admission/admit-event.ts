import { type Claim, type EventTracked, NAME_CAPS } from '@nextvisit/contracts'
import { capOnNewEvents, applyAllowListToProperties, countsForOf, type TrackBody } from '@nextvisit/domain'
import { type Refusal, REFUSALS, refuse } from '../refusals/refusals.ts'
import {
  type AdmissionParts,
  type Admitted,
  commonFields,
  type ItemToAdmit,
  type Passed,
  recordRefOf,
  releaseAll,
} from './admission.ts'
import { checkUser } from './check-user.ts'
import { NO_ROOM_NEEDED, reserveRoom } from './reserve-room.ts'
import type { TraitRegistry } from './trait-registry.ts'
import { type Release, verdictAfter } from './verdicts.ts'

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
  const { request, body } = item
  const { project, key, deadlineAt, admissionDeadlineAt, traceparent } = request
  const common = commonFields(item)
  const metered = common.environment === 'P'

  const user = await checkUser(knownUsers, item, isIdentified)
  if (user.outcome === 'refused') return user
  if (project.disabledEvents.has(body.slug)) return refuse(REFUSALS.disabled)

  const cap = capOnNewEvents(project, key.entry, body.slug)
  const claim: Claim = { kind: 'event', ...recordRefOf(item), slugs: [body.slug], disabled: [], limit: cap.limit }
  const nameRefusal = refuse(REFUSALS[cap.reason])
  const room = metered
    ? await reserveRoom(metering, 'event', item, {
        received: common.received,
        isServiceSilent: user.isServiceSilent,
        nameCap: {
          isReached: () => traitRegistry.isRefusedByCap(claim, admissionDeadlineAt, traceparent),
          refusal: nameRefusal,
        },
      })
    : NO_ROOM_NEEDED
  if (room.outcome === 'refused') return room

  const releaseName: Release = (releaseDeadlineAt) => traitRegistry.release(claim, releaseDeadlineAt)
  const acquired = [...room.acquired, releaseName]
  const isServiceSilent = user.isServiceSilent || room.unchecked.length > 0
  const name = await claimName(traitRegistry, claim, item, { isServiceSilent, refusal: nameRefusal })
  if (name.outcome === 'refused') {
    // Awaited, so that the caller's next request finds the room again.
    await releaseAll(acquired, deadlineAt)
    return name
  }

  const unchecked = [...user.unchecked, ...room.unchecked, ...name.unchecked]
  return {
    outcome: 'admitted',
    fact: {
      ...factOf(item, common),
      newEvent: name.isNew,
      metered,
      unchecked,
      ...(room.lease !== undefined && { lease: room.lease }),
    },
    conclude: async (published) => {
      if (published === 'published') traitRegistry.remember(claim, claim.slugs)
      if (published === 'not-published') void releaseAll(acquired)
    },
  }
}

async function claimName(
  traitRegistry: TraitRegistry,
  claim: Claim,
  { request }: ItemToAdmit<unknown>,
  { isServiceSilent, refusal }: { readonly isServiceSilent: boolean; readonly refusal: Refusal },
): Promise<(Passed & { readonly isNew: boolean }) | Refusal> {
  // A request with a key may repeat one that another gateway answered before Redis was emptied.
  const mayBeRepeat = typeof request.idempotency === 'object'
  const { admissionDeadlineAt, traceparent } = request
  const claimed = await traitRegistry.claim(claim, admissionDeadlineAt, { mayBeRepeat, traceparent })
  const [answered] = typeof claimed === 'string' ? [claimed] : claimed.values()
  const verdict = answered && verdictAfter(isServiceSilent, answered)
  if (verdict === 'no-room') return refusal
  if (verdict === 'crowded') return refuse(REFUSALS.busy)
  const unchecked = verdict === 'unchecked' ? [NAME_CAPS.event.unchecked] : []
  return { outcome: 'passed', unchecked, isNew: verdict === 'new' }
}

/** The fact holds no signature: with it, readers of the log could act as the user. */
function factOf({ request, body }: ItemToAdmit<TrackBody>, common: ReturnType<typeof commonFields>) {
  const { project } = request
  const { eventName, slug, occurredAt, evaluateTriggers, properties } = body
  const chosen = applyAllowListToProperties(project, properties)
  return {
    type: 'EventTracked',
    ...common,
    eventName,
    slug,
    occurredAt,
    evaluateTriggers,
    ...chosen,
    ...countsForOf(project.config, { slug, received: common.received, properties: chosen.properties }),
  } as const
}
