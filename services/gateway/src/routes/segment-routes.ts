import { Uuid } from '@nextvisit/contracts'
import { compileSegments } from '@nextvisit/domain'
import type { UserProjector } from '../clients/user-projector.ts'
import { REFUSALS, type Refusal, refuse } from '../http/refusals.ts'
import { type Answer, answer } from '../http/write-answer.ts'
import { parsePage } from './page-query.ts'
import { type CheckedRequest, type Route, ROUTES } from './route.ts'

/** A project's segments and who is in them (decisions.md, Beyond the document). */
export function createSegmentRoutes({
  readSegments,
  readSegmentMembers,
}: Pick<UserProjector, 'readSegments' | 'readSegmentMembers'>): readonly Route[] {
  /** Segments by id, how many are in each, and how far that is computed. */
  async function listSegments({ query, project: place, deadlineAt }: CheckedRequest): Promise<Answer | Refusal> {
    const { organization, project, config } = place
    const asked = parsePage(query)
    if (asked.outcome === 'refused') return asked
    const { limit, after = '' } = asked.query
    const rest = compileSegments(config).segments.filter(({ id }) => id > after)
    const page = rest.slice(0, limit)
    const segments = page.map(({ id, definition }) => ({ id, definition }))
    const read = await readSegments({ organization, project, segments }, deadlineAt)
    if (read.outcome !== 'answered') return refuse(REFUSALS.notRead)
    const { usersTotal, segments: progress } = read.answer
    const names = new Map(config.segments.map(({ id, name }) => [id, name]))
    return answer(200, {
      segments: page.map(({ id }, index) => ({ id, name: names.get(id) ?? null, ...progress[index], usersTotal })),
      next: rest.length > limit ? (page.at(-1)?.id ?? null) : null,
    })
  }

  /** Who is in a segment, by user id, and since when. */
  async function listSegmentUsers(request: CheckedRequest): Promise<Answer | Refusal> {
    const { organization, project, config } = request.project
    const page = parsePage(request.query, (after) => Uuid.safeParse(after).success)
    if (page.outcome === 'refused') return page
    const segmentId = request.pathParameters.get('segmentId')
    const segment = config.segments.find(({ id }) => id === segmentId)
    if (!segment) return refuse(REFUSALS.segment)
    const query = { organization, project, segmentId: segment.id, ...page.query }
    const members = await readSegmentMembers(query, request.deadlineAt)
    return members.outcome === 'answered' ? answer(200, members.answer) : refuse(REFUSALS.notRead)
  }

  return [
    { ...ROUTES.listSegments, handle: listSegments },
    { ...ROUTES.listSegmentUsers, handle: listSegmentUsers },
  ]
}
