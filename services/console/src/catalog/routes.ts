import { answered, type ApiRoute, apiRoute, refuse } from '../http/api-route.ts'
import { CatalogAnswer, CatalogQuery } from './api.ts'

const NO_LOG = refuse(503, 'no-log', 'Kafka does not answer, so the catalog cannot be read. The Overview says more.')

/** `GET api/catalog`: the revisions of each organization, with when, by whom, and what changed. */
export function createCatalogRoute(revisions: (organization?: string) => Promise<CatalogAnswer>): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: 'catalog',
    role: 'viewer',
    input: CatalogQuery,
    answer: CatalogAnswer,
    handle: async ({ organization }) => {
      const answer = await revisions(organization).catch(() => undefined)
      return answer ? answered(answer) : NO_LOG
    },
  })
}
