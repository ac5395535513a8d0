import type { OrganizationConfig } from '@nextvisit/contracts'
import type { CatalogView } from '../src/catalog-view.ts'
import { emptyCatalog, foldCatalog, lookupsOf } from '../src/fold-catalog.ts'

/** Creates a view for specs that never changes and is always current, with each organization at revision 1. */
export function staticCatalog(configs: readonly OrganizationConfig[]): CatalogView {
  const state = emptyCatalog()
  for (const config of configs) {
    const id = '00000000-0000-4000-8000-000000000000'
    foldCatalog(state, { outcome: 'read', id, organization: config.id, revision: 1, config, notUnderstood: [] })
  }
  return { ...lookupsOf(state), onChange: () => {}, currentAsOfMs: () => Number.POSITIVE_INFINITY }
}
