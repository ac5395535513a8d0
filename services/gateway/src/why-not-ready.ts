import type { CatalogView } from '@nextvisit/catalog'
import type { RecordLog } from './record-log.ts'

const MAX_CATALOG_AGE_MS = 30_000

/**
 * Why a request would not succeed now; empty while it would. Redis and the owners are not asked: ingestion goes on
 * without them (decisions.md, Busy and broken).
 */
export function whyNotReady(log: RecordLog, catalog: CatalogView, nowMs: number): readonly string[] {
  const reasons: string[] = []
  const away = log.whyAway()
  if (away) reasons.push(away)
  const currentAsOfMs = catalog.currentAsOfMs()
  if (currentAsOfMs === 0) reasons.push('The catalog was not read yet')
  else if (nowMs - currentAsOfMs > MAX_CATALOG_AGE_MS)
    reasons.push(`The catalog was last known to be current ${Math.round((nowMs - currentAsOfMs) / 1_000)} s ago`)
  return reasons
}
