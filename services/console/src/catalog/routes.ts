import { answered, refuse, serveApi } from '../http/api-route.ts'
import { type CatalogAnswer, catalogApi } from './api.ts'

const NO_LOG = refuse(503, 'no-log', 'Kafka does not answer, so the catalog cannot be read. The Overview says more.')

export function createCatalogRoutes(revisions: (organization?: string) => Promise<CatalogAnswer>) {
  return serveApi(catalogApi, {
    listRevisions: async ({ organization }) => {
      const answer = await revisions(organization).catch(() => undefined)
      return answer ? answered(answer) : NO_LOG
    },
  })
}
