import { DefinitionsAnswer, INTERNAL_ROUTES, UsageAnswer } from '@nextvisit/contracts'
import { monthBefore, monthOf } from '@nextvisit/domain'
import { createInternalClient } from '@nextvisit/service-kit'
import { NamesPage, NamesQuery, ProjectPath, ProjectUsage } from '../api/registry.ts'
import { askService } from '../ask-service.ts'
import { answered, type ApiRoute, apiRoute } from '../http/api-route.ts'
import type { KnownCatalog } from '../known-catalog.ts'
import { projectUsageOf } from '../registry/limit-lines.ts'
import { namesPageOf, slugPrefixOf } from '../registry/name-lines.ts'
import { findProject } from './find-project.ts'

export interface RegistryRoutesParts {
  readonly catalog: () => Promise<KnownCatalog>
  readonly services: { readonly metering: readonly string[]; readonly 'trait-registry': readonly string[] }
  readonly token: string
  readonly nowMs: () => number
}

const ANSWER_WITHIN_MS = 3_000
const NAMES_ON_A_PAGE = 50

/** A project's limits with their use, and its traits and events. */
export function createRegistryRoutes({ catalog, services, token, nowMs }: RegistryRoutesParts): readonly ApiRoute[] {
  const clientOf = (baseUrls: readonly string[]) =>
    createInternalClient({ baseUrls, token, timeoutMs: ANSWER_WITHIN_MS })
  const [metering, registry] = [clientOf(services.metering), clientOf(services['trait-registry'])]

  const readUsage = apiRoute({
    method: 'GET',
    path: 'registry/:organization/:project/usage',
    role: 'viewer',
    input: ProjectPath,
    answer: ProjectUsage,
    handle: async (path) => {
      const found = await findProject(catalog, path)
      if (found.outcome === 'refused') return found
      const now = nowMs()
      const month = monthOf(new Date(now).toISOString())
      const ask = (of: string) =>
        askService(metering, 'metering', INTERNAL_ROUTES.readUsage, { ...path, month: of }, UsageAnswer)
      const [usage, before] = await Promise.all([ask(month), ask(monthBefore(month))])
      if (usage.outcome === 'refused') return usage
      if (before.outcome === 'refused') return before
      const { plan } = found.project
      return answered(projectUsageOf({ plan, usage: usage.answer, before: before.answer, nowMs: now }))
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

  return [readUsage, listNames]
}
