import { describeProblem, type LiveCatalogView } from '@nextvisit/catalog'
import { type Db, sql } from '@nextvisit/database'
import type { ProjectionRunner } from '@nextvisit/projection'
import type { Health } from '@nextvisit/service-kit'

export interface ConsumerHealthOptions {
  readonly runner: Pick<ProjectionRunner, 'progress'>
  readonly catalog: Pick<LiveCatalogView, 'isCurrentWithin' | 'problems'>
  readonly db: Db
}

/** A partition is stuck if its records wait this long and none is folded. A new process may do better. */
const STUCK_AFTER_MS = 120_000
/** As for gateways (decisions.md, Keys). */
const CATALOG_WITHIN_MS = 30_000

/** What a consumer service answers on `/livez` and `/readyz`. */
export function consumerHealth({ runner, catalog, db }: ConsumerHealthOptions): {
  readonly isLive: () => Health
  readonly isReady: () => Promise<Health>
} {
  return {
    isLive: () => {
      const stuck = runner.progress().filter(({ stalledMs }) => stalledMs > STUCK_AFTER_MS)
      if (stuck.length === 0) return { status: 'available' }
      const partitions = stuck.map(({ topic, partition }) => `${topic}/${partition}`).join(', ')
      return { status: 'unavailable', because: `nothing was folded of ${partitions} for a while` }
    },
    isReady: async () => {
      if (!catalog.isCurrentWithin(CATALOG_WITHIN_MS)) {
        return { status: 'unavailable', because: 'the catalog is not known to be current' }
      }
      await db.$queryRaw(sql`SELECT 1`)
      // One organization must not make the process unready for all.
      return { status: 'available', notes: catalog.problems().map(describeProblem) }
    },
  }
}
