import { Uuid } from '@nextvisit/contracts'
import { remainingMs } from '../budget.ts'
import type { Owners } from '../owners.ts'
import { busy, refuse } from '../refusal.ts'
import { answer, type Route } from '../route.ts'
import { ROUTES } from '../route-table.ts'
import { parsePage } from './page-query.ts'

/** `GET /v2/admin/segments/{segmentId}/users`: who is in a segment, by user id, and since when. */
export function createListSegmentUsers({ readSegmentMembers }: Pick<Owners, 'readSegmentMembers'>): Route {
  return {
    ...ROUTES.listSegmentUsers,
    handle: async ({ pathParameters, query, project: { organization, project, config }, deadlineAt }) => {
      const asked = parsePage(query, (after) => Uuid.safeParse(after).success)
      if (asked.outcome === 'refused') return asked
      const { limit, after } = asked
      const segmentId = pathParameters.get('segmentId')
      const segment = config.segments.find(({ id }) => id === segmentId)
      if (!segment) return refuse(404, 'Segment not found')
      const question = { organization, project, segmentId: segment.id, limit, ...(after !== undefined && { after }) }
      const page = await readSegmentMembers(question, remainingMs(deadlineAt))
      if (page.outcome !== 'found') return busy('This can not be read now: try again')
      return answer(200, page.value)
    },
  }
}
