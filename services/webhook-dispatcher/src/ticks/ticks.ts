import type { CatalogView } from '@nextvisit/catalog'
import type { TickContext, Ticks } from '@nextvisit/consumer'
import type { AnyFormFact } from '@nextvisit/contracts'
import type { Db, Sql } from '@nextvisit/database'
import { hasEndpoints } from '../endpoints.ts'
import { writeDeliveries } from '../new-deliveries.ts'
import { keptSince } from '../replays.ts'
import { endpoints, positions } from '../tables.ts'
import { createPositions } from './new-positions.ts'
import { planTick } from './plan-tick.ts'
import { readOn, reuseBodies } from './read-on.ts'
import { findRows, findWork, readRows } from './read-rows.ts'
import { deleteOldDeliveries, deleteOldReplays, removeEndpoints, removeOrphans } from './remove-rows.ts'
import type { Review } from './review.ts'

/**
 * Creates the ticks of deliveries. Only they change positions, and they run between batches of the partition: no record is missing where an
 * endpoint stops and continues, and none overtakes another one of its user. Without endpoints in the catalog they ask Postgres once.
 */
export function createTicks(review: Review): Ticks<AnyFormFact> {
  let round = 0

  async function tick(db: Db, instant: Date, context: TickContext<AnyFormFact>): Promise<readonly Sql[]> {
    const { catalog, partition } = context
    const state = review.state()
    const isReviewed = review.isReviewed(partition)
    const rows = await readRows(db, partition)
    const asOfMs = currentAsOfMs(catalog, instant)
    const plan = planTick(rows, catalog, asOfMs)
    const removal = await removeEndpoints(db, partition, plan.removed)
    const created = await createPositions(plan, context)
    const createdAt = instant.toISOString()
    round += 1
    const read = await readOn(plan.behind, context, { createdAt, round })
    const deliveries = await reuseBodies(db, read.deliveries, plan.behind)
    // What this tick changes may fail to commit, so the next one ends the review.
    const isSettled = !plan.mustWait && [plan.removed, plan.added, plan.stopped].every(({ length }) => length === 0)
    const orphans = isSettled && !isReviewed ? await removeOrphans(db, catalog, asOfMs) : NO_ORPHANS
    if (isSettled && !orphans.mustWait && orphans.statements.length === 0) review.end(partition, state)
    return [
      ...writeDeliveries(deliveries),
      ...removal,
      ...created,
      ...positions.update(
        plan.stopped.map((position) => ({ ...position, isLive: false, nextOffset: context.nextOffset })),
        ['isLive', 'nextOffset'],
      ),
      ...positions.update(read.moved, ['isLive', 'nextOffset']),
      // Time in which the workspace file disables an endpoint is no time of failures.
      ...endpoints.update(
        plan.switchedOff.map((endpoint) => ({ ...endpoint, failingSince: null })),
        ['failingSince'],
      ),
      ...positions.deleteByKeys(plan.forgotten),
      ...orphans.statements,
      ...(await deleteOldDeliveries(db, partition, keptSince(instant))),
      ...(await deleteOldReplays(db, keptSince(instant))),
    ]
  }

  return {
    due: async (db, instant, { catalog, partitions }) => {
      const unreviewed = review.begin(catalog, partitions)
      if (hasEndpoints(catalog))
        return [...unreviewed, ...(await findWork(db, catalog, { partitions, before: keptSince(instant) }))]
      const state = review.state()
      const withRows = await findRows(db, unreviewed)
      for (const partition of unreviewed) if (!withRows.includes(partition)) review.end(partition, state)
      return withRows
    },
    tick: async (db, instant, context) => {
      // A rebuild carries all rows.
      return { statements: context.mode === 'rebuild' ? [] : await tick(db, instant, context) }
    },
  }
}

const NO_ORPHANS: Awaited<ReturnType<typeof removeOrphans>> = { statements: [], mustWait: false }

/** Returns when the catalog was current, in the clock of ticks. */
function currentAsOfMs(catalog: CatalogView, instant: Date): number {
  return instant.getTime() - (performance.now() - catalog.currentAsOfMs())
}
