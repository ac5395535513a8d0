import type { CatalogProject } from '@nextvisit/catalog'
import type { ProjectRef } from '@nextvisit/contracts'
import { type ApiHandler, type ApiRefusal, refuse } from '../http/api-route.ts'
import type { Session } from '../http/sessions.ts'
import type { KnownCatalog } from './known-catalog.ts'

export const NO_CATALOG = refuse(
  503,
  'no-catalog',
  'The projects are unknown because Kafka does not answer. The Overview says more.',
)
export const NO_PROJECT = refuse(404, 'no-project', 'The workspace has no such project.')

/** Finds a project of the workspace. */
export async function findProject(
  catalog: () => Promise<KnownCatalog>,
  { organization, project }: ProjectRef,
): Promise<{ readonly outcome: 'found'; readonly project: CatalogProject } | ApiRefusal> {
  const known = await catalog().catch(() => undefined)
  if (!known) return NO_CATALOG
  const found = known.project(organization, project)
  return found ? { outcome: 'found', project: found } : NO_PROJECT
}

/** Makes handlers of routes about a project. They refuse projects that are not in the workspace. */
export function createInProject(catalog: () => Promise<KnownCatalog>) {
  return <Input extends ProjectRef, Answer>(
    handle: (
      project: CatalogProject,
      input: Input,
      session: Session,
      signal: AbortSignal,
    ) => ReturnType<ApiHandler<Input, Answer>>,
  ): ApiHandler<Input, Answer> =>
    async (input, session, signal) => {
      const found = await findProject(catalog, input)
      return found.outcome === 'refused' ? found : handle(found.project, input, session, signal)
    }
}
