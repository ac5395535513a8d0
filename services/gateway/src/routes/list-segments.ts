import { compileSegments } from '@nextvisit/domain'
import { remainingMs } from '../budget.ts'
import type { Owners } from '../owners.ts'
import { busy } from '../refusal.ts'
import { answer, type Route } from '../route.ts'
import { ROUTES } from '../route-table.ts'
import { parsePage } from './page-query.ts'

/** `GET /v2/admin/segments`: a project's segments by id, how many are in each, and how far that is computed. */
export function createListSegments({ readSegments }: Pick<Owners, 'readSegments'>): Route {
  return {
    ...ROUTES.listSegments,
    handle: async ({ query, project: { organization, project, config }, deadlineAt }) => {
      const asked = parsePage(query)
      if (asked.outcome === 'refused') return asked
      const { limit, after = '' } = asked
      const behind = compileSegments(config).segments.filter(({ id }) => id > after)
      const page = behind.slice(0, limit)
      const segments = page.map(({ id, definition }) => ({ id, definition }))
      const read = await readSegments({ organization, project, segments }, remainingMs(deadlineAt))
      if (read.outcome !== 'found') return busy('This can not be read now: try again')
      const names = new Map(config.segments.map(({ id, name }) => [id, name]))
      return answer(200, {
        segments: page.map(({ id }, index) => ({
          id,
          name: names.get(id) ?? null,
          ...read.value.segments[index],
          usersTotal: read.value.usersTotal,
        })),
        next: behind.length > limit ? (page.at(-1)?.id ?? null) : null,
      })
    },
  }
}
