import { type CatalogKey, type CatalogProject, lookupsOf, readCatalog } from '@nextvisit/catalog'
import { TOPICS } from '@nextvisit/contracts'
import type { LogConnection } from '@nextvisit/log'

/** The catalog as it was read last. */
export interface KnownCatalog {
  readonly projects: () => readonly CatalogProject[]
  readonly project: (organization: string, project: string) => CatalogProject | undefined
  readonly keyByHash: (sha256: string) => CatalogKey | undefined
}

const READ_AGAIN_AFTER_MS = 5_000

/**
 * Reads the catalog when somebody asks for it: to follow it, as other services do, would cost an idle console more than
 * everything else. While the log is unavailable the answer is what was read last; rejects if that is nothing.
 */
export function createKnownCatalog(connection: LogConnection): () => Promise<KnownCatalog> {
  let known: { readonly catalog: KnownCatalog; readonly readAt: number } | undefined
  let reading: Promise<KnownCatalog> | undefined

  async function read(): Promise<KnownCatalog> {
    const { state } = await readCatalog(connection, TOPICS.catalog)
    const lookups = lookupsOf(state)
    const catalog = { ...lookups, projects: () => [...lookups.projects()] }
    known = { catalog, readAt: performance.now() }
    return catalog
  }

  return async () => {
    if (known && performance.now() - known.readAt < READ_AGAIN_AFTER_MS) return known.catalog
    reading ??= read().finally(() => (reading = undefined))
    return reading.catch((error: unknown) => {
      if (known) return known.catalog
      throw error
    })
  }
}
