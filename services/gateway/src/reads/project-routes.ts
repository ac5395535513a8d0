import { catalogSegments } from '@nextvisit/catalog'
import {
  mapLimits,
  type meteringCalls,
  type NameKind,
  ROUTES,
  type traitRegistryCalls,
  type userProjectorCalls,
  Uuid,
} from '@nextvisit/contracts'
import { monthOf } from '@nextvisit/domain'
import type { CallClient } from '@nextvisit/service-kit'
import { type KnownErasures, wasErased } from './erased-users.ts'
import { pageOf, parsePage, staleOf } from './page-query.ts'
import { REFUSALS, refuse } from '../refusals/refusals.ts'
import { answer, type CheckedRequest, type Route, type Result } from '../http/route.ts'

interface ProjectRoutesParts {
  readonly metering: CallClient<typeof meteringCalls>
  readonly traitRegistry: CallClient<typeof traitRegistryCalls>
  readonly userProjector: CallClient<typeof userProjectorCalls>
  readonly erasures: KnownErasures
}

/** Routes that read a project's counters, definitions and segments (decisions.md, Beyond the document). */
export function createProjectRoutes(parts: ProjectRoutesParts): readonly Route[] {
  const { metering, traitRegistry, userProjector, erasures } = parts

  /** Answers the counters of this month with the plan's limits; `null`: no limit. */
  async function getUsage({ project: { organization, project, plan }, receivedMs, deadlineAt }: CheckedRequest) {
    const month = monthOf(new Date(receivedMs).toISOString())
    const usage = await metering.readUsage({ organization, project, month }, { deadlineAt })
    if (usage.outcome !== 'answered') return refuse(REFUSALS.notRead('metering service'))
    const counts = usage.answer
    return answer(200, {
      month: counts.month,
      ...mapLimits('usage', (limit) => ({ count: counts[limit.usage], limit: plan[limit.name] ?? null })),
      ...staleOf(counts),
    })
  }

  /** Lists definitions by slug, in pages. */
  async function listDefinitions(kind: NameKind, request: CheckedRequest): Promise<Result> {
    const { organization, project } = request.project
    const page = parsePage(request.parameters)
    if (page.outcome === 'refused') return page
    const query = { kind, organization, project, ...page.query }
    const read = await traitRegistry.readDefinitions(query, { deadlineAt: request.deadlineAt })
    if (read.outcome !== 'answered') return refuse(REFUSALS.notRead('trait registry'))
    return answer(200, { [`${kind}s`]: read.answer.definitions, next: read.answer.next })
  }

  /** Segments by id, with the number of members and the progress of computing them. */
  async function listSegments({ parameters, project: place, deadlineAt }: CheckedRequest): Promise<Result> {
    const { organization, project } = place
    const parsed = parsePage(parameters)
    if (parsed.outcome === 'refused') return parsed
    const { limit, after = '' } = parsed.query
    const rest = catalogSegments(place).filter(({ id }) => id > after)
    const { page, next } = pageOf(rest, limit)
    const segments = page.map(({ id, fingerprint }) => ({ id, fingerprint }))
    const read = await userProjector.readSegments({ organization, project, segments }, { deadlineAt })
    if (read.outcome !== 'answered') return refuse(REFUSALS.notRead('user projector'))
    const { usersTotal, segments: progress } = read.answer
    return answer(200, {
      segments: page.map(({ id, name }, index) => ({ id, name, ...progress[index], usersTotal })),
      next,
      ...staleOf(read.answer),
    })
  }

  /** Members of a segment by user id, each with the instant of joining. */
  async function listSegmentUsers(request: CheckedRequest): Promise<Result> {
    const { organization, project, config } = request.project
    const page = parsePage(request.parameters, (after) => Uuid.safeParse(after).success)
    if (page.outcome === 'refused') return page
    const segmentId = request.parameters.get('segmentId')
    const segment = config.segments.find(({ id }) => id === segmentId)
    if (!segment) return refuse(REFUSALS.segment)
    const query = { organization, project, segmentId: segment.id, ...page.query }
    const members = await userProjector.readSegmentMembers(query, { deadlineAt: request.deadlineAt })
    if (members.outcome !== 'answered') return refuse(REFUSALS.notRead('user projector'))
    const { users, next, stale } = members.answer
    const shown = stale ? users.filter(({ userId }) => !wasErased(erasures, { organization, project, userId })) : users
    return answer(200, { users: shown, next, ...staleOf(members.answer) })
  }

  return [
    { ...ROUTES.getUsage, handle: getUsage },
    { ...ROUTES.listTraits, handle: (request) => listDefinitions('trait', request) },
    { ...ROUTES.listEvents, handle: (request) => listDefinitions('event', request) },
    { ...ROUTES.listSegments, handle: listSegments },
    { ...ROUTES.listSegmentUsers, handle: listSegmentUsers },
  ]
}
