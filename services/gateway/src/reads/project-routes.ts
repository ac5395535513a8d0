import { segmentDefinitions } from '@nextvisit/catalog'
import { ROUTES, Uuid } from '@nextvisit/contracts'
import { monthOf } from '@nextvisit/domain'
import type { Metering } from '../admission/metering.ts'
import type { TraitRegistry } from '../admission/trait-registry.ts'
import type { UserProjector } from '../admission/user-projector.ts'
import { type Answer, answer } from '../api/answer.ts'
import { pageOf, parsePage } from '../api/page-query.ts'
import { type Refusal, REFUSALS, refuse } from '../api/refusals.ts'
import type { CheckedRequest, Route } from '../http/route.ts'

interface ProjectRoutesParts {
  readonly metering: Metering
  readonly traitRegistry: TraitRegistry
  readonly userProjector: UserProjector
}

/** A project's counters, registries and segments (decisions.md, Beyond the document). */
export function createProjectRoutes({ metering, traitRegistry, userProjector }: ProjectRoutesParts): readonly Route[] {
  /** This month's counters beside the plan's limits, `null` for none. */
  async function getUsage({ project: { organization, project, plan }, receivedMs, deadlineAt }: CheckedRequest) {
    const month = monthOf(new Date(receivedMs).toISOString())
    const usage = await metering.readUsage({ organization, project, month }, deadlineAt)
    if (usage.outcome !== 'answered') return refuse(REFUSALS.notRead)
    const count = usage.answer
    return answer(200, {
      month: count.month,
      events: { count: count.events, limit: plan.eventsPerMonth ?? null },
      monthlyActiveUsers: { count: count.monthlyActiveUsers, limit: plan.monthlyActiveUsers ?? null },
      uniqueEvents: { count: count.uniqueEvents, limit: plan.uniqueEvents ?? null },
      uniqueTraits: { count: count.uniqueTraits, limit: plan.uniqueTraits ?? null },
    })
  }

  /** Definitions by slug, a page at a time. */
  async function listDefinitions(kind: 'trait' | 'event', request: CheckedRequest): Promise<Answer | Refusal> {
    const { organization, project } = request.project
    const page = parsePage(request.parameters)
    if (page.outcome === 'refused') return page
    const read = await traitRegistry.readDefinitions({ kind, organization, project, ...page.query }, request.deadlineAt)
    if (read.outcome !== 'answered') return refuse(REFUSALS.notRead)
    return answer(200, { [`${kind}s`]: read.answer.definitions, next: read.answer.next })
  }

  /** Segments by id, how many are in each, and how far that is computed. */
  async function listSegments({ parameters, project: place, deadlineAt }: CheckedRequest): Promise<Answer | Refusal> {
    const { organization, project } = place
    const asked = parsePage(parameters)
    if (asked.outcome === 'refused') return asked
    const { limit, after = '' } = asked.query
    const rest = segmentDefinitions(place).filter(({ id }) => id > after)
    const { page, next } = pageOf(rest, limit)
    const segments = page.map(({ id, definition }) => ({ id, definition }))
    const read = await userProjector.readSegments({ organization, project, segments }, deadlineAt)
    if (read.outcome !== 'answered') return refuse(REFUSALS.notRead)
    const { usersTotal, segments: progress } = read.answer
    return answer(200, {
      segments: page.map(({ id, name }, index) => ({ id, name, ...progress[index], usersTotal })),
      next,
    })
  }

  /** Who is in a segment, by user id, and since when. */
  async function listSegmentUsers(request: CheckedRequest): Promise<Answer | Refusal> {
    const { organization, project, config } = request.project
    const page = parsePage(request.parameters, (after) => Uuid.safeParse(after).success)
    if (page.outcome === 'refused') return page
    const segmentId = request.parameters.get('segmentId')
    const segment = config.segments.find(({ id }) => id === segmentId)
    if (!segment) return refuse(REFUSALS.segment)
    const query = { organization, project, segmentId: segment.id, ...page.query }
    const members = await userProjector.readSegmentMembers(query, request.deadlineAt)
    return members.outcome === 'answered' ? answer(200, members.answer) : refuse(REFUSALS.notRead)
  }

  return [
    { ...ROUTES.getUsage, handle: getUsage },
    { ...ROUTES.listTraits, handle: (request) => listDefinitions('trait', request) },
    { ...ROUTES.listEvents, handle: (request) => listDefinitions('event', request) },
    { ...ROUTES.listSegments, handle: listSegments },
    { ...ROUTES.listSegmentUsers, handle: listSegmentUsers },
  ]
}
