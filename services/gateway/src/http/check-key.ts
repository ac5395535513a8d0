import type { CatalogKey, CatalogView } from '@nextvisit/catalog'
import type { KeyKind } from '@nextvisit/contracts'
import { hashApiKey, parseApiKey } from '@nextvisit/domain'
import { busy, type Refusal, refuse } from '../refusal.ts'

export type CheckedKey = { readonly outcome: 'ok'; readonly key: CatalogKey } | Refusal

/**
 * The key of a request, for a route that takes one kind (decisions.md, Keys). One message whether it is missing,
 * malformed, unknown or revoked. A header that came twice arrives joined, and so is malformed.
 */
export function checkKey(catalog: CatalogView, header: unknown, kind: KeyKind): CheckedKey {
  const key = typeof header === 'string' && parseApiKey(header) ? catalog.keyByHash(hashApiKey(header)) : undefined
  if (!key && catalog.currentAsOfMs() === 0) return busy('Keys were not read yet: try again')
  if (!key) return refuse(401, 'Invalid or missing API key')
  if (key.entry.kind === kind) return { outcome: 'ok', key }
  return refuse(403, kind === 'admin' ? 'This route needs an admin key' : 'This route needs a publishable SDK key')
}
