import { DefinitionsAnswer, INTERNAL_ROUTES } from '@nextvisit/contracts'
import { createInternalClient } from '@nextvisit/service-kit'
import { askService } from '../ask-service.ts'
import { createInProject } from '../catalog/find-project.ts'
import type { KnownCatalog } from '../catalog/known-catalog.ts'
import { answered, serveApi } from '../http/api-route.ts'
import { registryApi } from './api.ts'
import { namesPageOf, slugPrefixOf } from './name-lines.ts'
import type { ReadUsage } from './read-usage.ts'

export interface RegistryRoutesParts {
  readonly catalog: () => Promise<KnownCatalog>
  readonly readUsage: ReadUsage
  /** The processes of the trait registry. */
  readonly baseUrls: readonly string[]
  readonly token: string
}

const ANSWER_WITHIN_MS = 3_000
const NAMES_A_PAGE = 50

export function createRegistryRoutes({ catalog, readUsage, baseUrls, token }: RegistryRoutesParts) {
  const registry = createInternalClient({ baseUrls, token, timeoutMs: ANSWER_WITHIN_MS })
  const inProject = createInProject(catalog)

  return serveApi(registryApi, {
    readUsage: inProject(readUsage),
    listNames: inProject(async (declared, { organization, project, kind, after, ...asked }) => {
      const prefix = slugPrefixOf(kind, asked.prefix)
      const query = {
        kind: kind === 'traits' ? 'trait' : 'event',
        organization,
        project,
        prefix,
        ...(after !== undefined && { after }),
        limit: NAMES_A_PAGE,
      }
      const read = await askService(
        registry,
        'trait-registry',
        INTERNAL_ROUTES.readDefinitions,
        query,
        DefinitionsAnswer,
      )
      if (read.outcome === 'refused') return read
      return answered(namesPageOf({ kind, page: read.answer, declared, prefix, after, limit: NAMES_A_PAGE }))
    }),
  })
}
