import { remainingMs } from '../budget.ts'
import type { Owners } from '../owners.ts'
import { busy } from '../refusal.ts'
import { answer, type Route } from '../route.ts'
import { ROUTES } from '../route-table.ts'
import { parsePage } from './page-query.ts'

/** `GET /v2/admin/traits` and `GET /v2/admin/events`: a project's definitions by slug, a page at a time. */
export function createListDefinitions(
  kind: 'trait' | 'event',
  { readDefinitions }: Pick<Owners, 'readDefinitions'>,
): Route {
  return {
    ...(kind === 'trait' ? ROUTES.listTraits : ROUTES.listEvents),
    handle: async ({ query, project: { organization, project }, deadlineAt }) => {
      const asked = parsePage(query)
      if (asked.outcome === 'refused') return asked
      const { limit, after } = asked
      const question = { kind, organization, project, limit, ...(after !== undefined && { after }) }
      const page = await readDefinitions(question, remainingMs(deadlineAt))
      if (page.outcome !== 'found') return busy('This can not be read now: try again')
      return answer(200, { [`${kind}s`]: page.value.definitions, next: page.value.next })
    },
  }
}
