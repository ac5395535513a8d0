import type { CatalogKey, CatalogView } from '@nextvisit/catalog'
import { hashApiKey, parseApiKey, remembered } from '@nextvisit/domain'

const MAX_REMEMBERED_KEYS = 10_000

/**
 * Finds keys in the catalog by their text. Each request names one, so the texts of recent ones are remembered with their
 * hashes, in the memory of this process only. Only keys that the catalog had: nobody drives them out with invented ones. The
 * catalog says each time whether it still has the key.
 */
export function createFindKey(catalog: Pick<CatalogView, 'keyByHash'>): (text: string) => CatalogKey | undefined {
  const hashOf = remembered(MAX_REMEMBERED_KEYS, (text) => {
    const hash = parseApiKey(text) && hashApiKey(text)
    return hash !== undefined && catalog.keyByHash(hash) ? hash : undefined
  })
  return (text) => {
    const hash = hashOf(text)
    return hash === undefined ? undefined : catalog.keyByHash(hash)
  }
}
