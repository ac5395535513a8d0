import type { OrganizationConfig } from '@nextvisit/contracts'
import type { CatalogView } from '../src/catalog-view.ts'
import { emptyCatalog, foldCatalog, lookupsOf } from '../src/fold-catalog.ts'
import type { RecordedContent } from '../src/form-contents.ts'

/**
 * Creates a view for specs that never changes and is always current, with each organization at revision 1. It holds these
 * contents of forms.
 */
export function staticCatalog(
  configs: readonly OrganizationConfig[],
  contents: readonly RecordedContent[] = [],
): CatalogView {
  const state = emptyCatalog({ withFormContents: contents.length > 0 })
  for (const content of contents) foldCatalog(state, { outcome: 'content', content })
  for (const config of configs) {
    const id = '00000000-0000-4000-8000-000000000000'
    foldCatalog(state, { outcome: 'read', id, organization: config.id, revision: 1, config, notUnderstood: [] })
  }
  return { ...lookupsOf(state), onChange: () => {}, currentAsOfMs: () => Number.POSITIVE_INFINITY }
}
