import { DefinitionsAnswer, INTERNAL_ROUTES } from '@nextvisit/contracts'
import { createInternalClient } from '@nextvisit/service-kit'
import { askService } from '../ask-service.ts'
import { findProject } from '../catalog/find-project.ts'
import type { KnownCatalog } from '../catalog/known-catalog.ts'
import { answered, type ApiRoute, apiRoute } from '../http/api-route.ts'
import { NamesPage, NamesQuery, ProjectPath, ProjectUsage } from './api.ts'
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
const NAMES_ON_A_PAGE = 50

/** A project's limits with their use, and its traits and events. */
export function createRegistryRoutes({
  catalog,
  readUsage,
  baseUrls,
  token,
}: RegistryRoutesParts): readonly ApiRoute[] {
  const registry = createInternalClient({ baseUrls, token, timeoutMs: ANSWER_WITHIN_MS })

  const showUsage = apiRoute({
    method: 'GET',
    path: 'registry/:organization/:project/usage',
    role: 'viewer',
    input: ProjectPath,
    answer: ProjectUsage,
    handle: async (path) => {
      const found = await findProject(catalog, path)
      if (found.outcome === 'refused') return found
      return readUsage(found.project)
    },
  })

  const listNames = apiRoute({
    method: 'GET',
    path: 'registry/:organization/:project/:kind',
    role: 'viewer',
    input: NamesQuery,
    answer: NamesPage,
    handle: async ({ organization, project, kind, after, ...asked }) => {
      const found = await findProject(catalog, { organization, project })
      if (found.outcome === 'refused') return found
      const prefix = slugPrefixOf(kind, asked.prefix)
      const query = {
        kind: kind === 'traits' ? 'trait' : 'event',
        organization,
        project,
        prefix,
        ...(after !== undefined && { after }),
        limit: NAMES_ON_A_PAGE,
      }
      const read = await askService(
        registry,
        'trait-registry',
        INTERNAL_ROUTES.readDefinitions,
        query,
        DefinitionsAnswer,
      )
      if (read.outcome === 'refused') return read
      const page = read.answer
      return answered(namesPageOf({ kind, page, declared: found.project, prefix, after, limit: NAMES_ON_A_PAGE }))
    },
  })

  return [showUsage, listNames]
}
