import { type CatalogKey, type CatalogProject, type CatalogView, lookupsOf, readCatalog } from '@nextvisit/catalog'
import { type ProjectRef, TOPICS } from '@nextvisit/contracts'
import { type LogConnection, withLogAdmin } from '@nextvisit/log'
import { createSharedRead, withLastAnswer } from '../shared-read.ts'
import { createReadIfGrown } from './read-if-grown.ts'

/** The catalog at its last read. */
export interface KnownCatalog {
  readonly projects: () => readonly CatalogProject[]
  readonly project: (organization: string, project: string) => CatalogProject | undefined
  readonly keyByHash: (sha256: string) => CatalogKey | undefined
}

/** Contents of forms by form and revision, at their last read. */
export type KnownContents = Pick<CatalogView, 'formContent'>

const LOOK_AGAIN_AFTER_MS = 5_000
/** Long enough for a healthy log, short enough for a page. */
const WAIT_MS = 1_000

/**
 * Reads the catalog on demand: following it, as other services do, would be the largest cost of an idle console. While the
 * log is slow or unavailable, returns the last catalog that was read. Rejects if there is none.
 */
export function createKnownCatalog(connection: LogConnection): () => Promise<KnownCatalog> {
  return createKnown(connection, async () => {
    const { state } = await readCatalog(connection, TOPICS.catalog)
    const lookups = lookupsOf(state)
    return { ...lookups, projects: () => [...lookups.projects()] }
  })
}

/** Reads the contents of forms like {@link createKnownCatalog}. They are large, and few screens show them. */
export function createKnownContents(connection: LogConnection): () => Promise<KnownContents> {
  return createKnown(connection, async () => {
    const { state } = await readCatalog(connection, TOPICS.catalog, { withFormContents: true })
    return lookupsOf(state)
  })
}

function createKnown<State>(connection: LogConnection, read: () => Promise<State>): () => Promise<State> {
  const readIfGrown = createReadIfGrown(TOPICS.catalog, read)
  return withLastAnswer(
    createSharedRead(() => withLogAdmin(connection, readIfGrown), LOOK_AGAIN_AFTER_MS),
    WAIT_MS,
  )
}

/** Compares organization and project. */
export function isSameProject(one: ProjectRef, other: ProjectRef): boolean {
  return one.organization === other.organization && one.project === other.project
}
