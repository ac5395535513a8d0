import type { CatalogProject } from '@nextvisit/catalog'
import type { ProjectRef } from '@nextvisit/contracts'
import { type ApiRefusal, refuse } from '../http/api-route.ts'
import type { KnownCatalog } from './known-catalog.ts'

export const NO_CATALOG = refuse(
  503,
  'no-catalog',
  'Kafka does not answer, so the projects are not known. The Overview says more.',
)
export const NO_PROJECT = refuse(404, 'no-project', 'The workspace has no such project.')

/** A project of the workspace, or why there is none to show. */
export async function findProject(
  catalog: () => Promise<KnownCatalog>,
  { organization, project }: ProjectRef,
): Promise<{ readonly outcome: 'found'; readonly project: CatalogProject } | ApiRefusal> {
  const known = await catalog().catch(() => undefined)
  if (!known) return NO_CATALOG
  const found = known.project(organization, project)
  return found ? { outcome: 'found', project: found } : NO_PROJECT
}
