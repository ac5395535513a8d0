import type { LiveCatalogView } from '@nextvisit/catalog'
import { type Db, sql } from '@nextvisit/database'
import type { ProjectionRunner } from '@nextvisit/projection'
import type { Health } from '@nextvisit/service-kit'

export interface HealthOptions {
  readonly db: Db
  readonly catalog: Pick<LiveCatalogView, 'isCurrentWithin'>
  readonly runner: Pick<ProjectionRunner, 'progress'>
}

/** Longer than an outage of Postgres that is waited out. */
const STALLED_MS = 5 * 60_000
const CATALOG_CURRENT_WITHIN_MS = 30_000

/** Alive: whatever waits to be folded is being folded. Ready: a question would be answered, from a current catalog. */
export function createHealth({ db, catalog, runner }: HealthOptions) {
  return {
    isLive: (): Health => {
      const stalled = runner.progress().find(({ stalledMs }) => stalledMs > STALLED_MS)
      return stalled ? unavailable(`partition ${stalled.partition} does not move`) : { status: 'available' }
    },
    isReady: async (): Promise<Health> => {
      if (!catalog.isCurrentWithin(CATALOG_CURRENT_WITHIN_MS)) return unavailable('the catalog is not current')
      await db.$queryRaw(sql`SELECT 1`)
      return { status: 'available' }
    },
  }
}

function unavailable(because: string): Health {
  return { status: 'unavailable', because }
}
