import type { Claim, EventTracked, Unchecked } from '@nextvisit/contracts'
import type { TrackBody } from '@nextvisit/domain'
import { admissionDeadline } from '../budget.ts'
import { type Refusal, refuse } from '../refusal.ts'
import type { CheckedRequest } from '../route.ts'
import type { Admission, RecordPlace } from './admission.ts'
import type { NameClaims } from './name-claims.ts'
import { commonFields, monthOf, riderOf } from './record-parts.ts'
import type { Reservations } from './reservations.ts'
import type { UserExists } from './user-exists.ts'

export interface EventAdmissionParts {
  readonly userExists: UserExists
  readonly reservations: Reservations
  readonly names: NameClaims
}

export type AdmitEvent = (
  request: CheckedRequest,
  body: TrackBody,
  place: RecordPlace,
) => Promise<Admission<EventTracked>>

/**
 * Policy for a tracked event, in this order (decisions.md, Track event): user exists (404), event disabled (400), the
 * organization's event limit (402), the project's cap on unique events (400).
 */
export function createAdmitEvent({ userExists, reservations, names }: EventAdmissionParts): AdmitEvent {
  return async (request, body, place) => {
    const { project } = request
    const deadlineAt = admissionDeadline(request.deadlineAt)
    const common = commonFields(request, place)
    const rider = riderOf(request, place)
    const where = { organization: rider.organization, project: rider.project }
    const unchecked: Unchecked[] = []

    const existence = await userExists({ ...where, ...place }, deadlineAt)
    if (existence === 'missing') return refuse(404, 'User not found')
    if (existence === 'unchecked') unchecked.push('user')

    if (project.disabledEvents.has(body.slug))
      return refuse(400, 'eventName names an event that is disabled in this project')

    const { cap, refusal } = newEventPolicy(request, body.slug)
    const limit = eventLimit(request)
    if (limit !== undefined) {
      const reservation = { kind: 'event', ...rider, month: monthOf(common.received), limit } as const
      // Who the cap refuses anyway must not take room from who would use it.
      const isHopeless = () => names.isRefused({ ...where, slug: body.slug, ...cap }, deadlineAt)
      const verdict = await reservations.reserveEvent(reservation, deadlineAt, isHopeless)
      if (verdict === 'no-use') return refusal
      if (verdict === 'exhausted') return refuse(402, 'Event tracking limit reached for this organization')
      if (verdict === 'unchecked') unchecked.push('event-limit')
    }
    // A reservation that was not answered may have been made all the same.
    const release = async (deadline?: number) => {
      if (limit !== undefined) await reservations.release(rider.recordId, deadline)
    }

    // Its first may have been answered by another gateway, and Redis emptied since: any keyed one may be a repeat.
    const slugs = [{ slug: body.slug, name: body.eventName }]
    const claim: Claim = { kind: 'event', ...rider, slugs, disabled: [], ...cap }
    const claimed = await names.claim(claim, deadlineAt, request.keyed !== 'none')
    const verdict = claimed.outcome === 'claimed' ? claimed.verdicts.get(body.slug) : undefined
    if (claimed.outcome === 'unchecked') unchecked.push('event-name')
    if (verdict === 'no-room') {
      // Awaited: the caller's next request must find the room again.
      await release(request.deadlineAt)
      return refusal
    }

    return {
      outcome: 'admitted',
      fact: {
        type: 'EventTracked',
        ...common,
        ...body,
        newEvent: verdict === 'new',
        metered: common.environment === 'P',
        unchecked,
      },
      settle: async (published) => {
        if (published === 'published') names.remember({ kind: 'event', ...rider }, [body.slug])
        if (published === 'not-published') void release()
      },
    }
  }
}

/** The organization's events a month, where they are metered: in `P`. */
function eventLimit({ key, project }: CheckedRequest): number | undefined {
  return key.entry.environment === 'P' ? project.plan.eventsPerMonth : undefined
}

/**
 * The room for a name that is new: none for an SDK key where the project does not let clients create events and does not
 * declare this one (docs/decisions, 7), else the plan's cap in `P`, else any. And what who finds no room is told.
 */
function newEventPolicy({ key, project }: CheckedRequest, slug: string): { cap: { limit?: number }; refusal: Refusal } {
  if (key.entry.kind === 'sdk' && !project.config.clientCreatedEvents && !project.declaredEvents.has(slug)) {
    const refusal = refuse(400, 'eventName must name an event that this project knows: clients do not create new ones')
    return { cap: { limit: 0 }, refusal }
  }
  const { uniqueEvents } = project.plan
  const refusal = refuse(400, 'Unique tracked events limit reached for your plan')
  return { cap: key.entry.environment === 'P' && uniqueEvents !== undefined ? { limit: uniqueEvents } : {}, refusal }
}
