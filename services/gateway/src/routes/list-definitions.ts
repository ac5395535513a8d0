import { remainingMs } from '../budget.ts'
import type { Owners } from '../owners.ts'
import { busy, refuse } from '../refusal.ts'
import { answer, type Route } from '../route.ts'
import { ROUTES } from '../route-table.ts'

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000

/** `GET /v2/admin/traits` and `GET /v2/admin/events`: a project's definitions by slug, a page at a time. */
export function createListDefinitions(
  kind: 'trait' | 'event',
  { readDefinitions }: Pick<Owners, 'readDefinitions'>,
): Route {
  return {
    ...(kind === 'trait' ? ROUTES.listTraits : ROUTES.listEvents),
    handle: async ({ query, project: { organization, project }, deadlineAt }) => {
      const limit = parseLimit(query.get('limit'))
      if (limit === undefined) return refuse(400, `limit must be a whole number from 1 to ${MAX_LIMIT}`)
      const after = query.get('after')
      if (after?.includes('\u0000')) return refuse(400, 'after must be what next was in the answer before')
      const question = { kind, organization, project, limit, ...(after !== null && { after }) }
      const page = await readDefinitions(question, remainingMs(deadlineAt))
      if (page.outcome !== 'found') return busy('This can not be read now: try again')
      return answer(200, { [`${kind}s`]: page.value.definitions, next: page.value.next })
    },
  }
}

function parseLimit(text: string | null): number | undefined {
  if (text === null) return DEFAULT_LIMIT
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  return limit >= 1 && limit <= MAX_LIMIT ? limit : undefined
}
