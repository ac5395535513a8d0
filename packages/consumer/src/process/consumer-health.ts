import { describeProblem, type LiveCatalogView } from '@nextvisit/catalog'
import { type Db, sql } from '@nextvisit/database'
import type { Health } from '@nextvisit/service-kit'
import type { ProjectionRunner } from './projection-runner.ts'
import type { PartitionAlarm, PartitionProgress } from '../partition/partition-progress.ts'

/** Records wait, and no attempt to fold has succeeded or failed for this long, ms. A new process may do better. */
const HANGS_AFTER_MS = 120_000
/** As for gateways (decisions.md, Keys). */
const CATALOG_WITHIN_MS = 30_000

/**
 * Returns the health checks of a consumer, for `/livez` and `/readyz`. They name halted and failing partitions, which leave
 * the process live and ready: a new process would meet the same error, and the other partitions need this one.
 */
export function consumerHealth({
  runner,
  catalog,
  db,
}: {
  readonly runner: Pick<ProjectionRunner, 'progress' | 'alarmProblem'>
  readonly catalog: Pick<LiveCatalogView, 'isCurrentWithin' | 'problems'>
  readonly db: Db
}): {
  readonly isLive: () => Health
  readonly isReady: () => Promise<Health>
} {
  return {
    isLive: () => {
      const progress = runner.progress()
      const hanging = progress.filter(({ hangsMs }) => hangsMs > HANGS_AFTER_MS)
      if (hanging.length > 0) {
        const partitions = hanging.map(({ topic, partition }) => `${topic}/${partition}`).join(', ')
        return { status: 'unavailable', because: `no record of ${partitions} was folded for two minutes` }
      }
      const ofPartitions = progress.flatMap((partition) => partition.alarms.map((alarm) => textOf(partition, alarm)))
      const alarms = [...ofPartitions, runner.alarmProblem() ?? []].flat()
      return alarms.length === 0 ? { status: 'available' } : { status: 'available', alarms }
    },
    isReady: async () => {
      if (!catalog.isCurrentWithin(CATALOG_WITHIN_MS)) {
        return { status: 'unavailable', because: 'the catalog is not known to be current' }
      }
      await db.$queryRaw(sql`SELECT 1`)
      // Problems of one organization must not make the process unready for all.
      return { status: 'available', alarms: catalog.problems().map(describeProblem) }
    },
  }
}

function textOf({ topic, partition }: PartitionProgress, { kind, offset, code, message }: PartitionAlarm): string {
  return `${topic}/${partition} ${kind === 'ticks' ? 'ticks fail' : `${kind} at offset ${offset}`}: ${code} ${message}`
}
