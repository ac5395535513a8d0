import type { UnfinishedErasure } from '@nextvisit/contracts'
import type { Dependencies } from '../dependencies.ts'
import { answered, serveApi } from '../http/api-route.ts'
import type { SamplerState } from '../metrics/sampler.ts'
import type { ServiceReading } from '../metrics/service-readings.ts'
import type { ReachedLimit } from '../registry/reached-limits.ts'
import { overviewApi } from './api.ts'
import { countUnowned } from './findings.ts'
import type { CountMembers } from './group-members.ts'
import { createSharedRead, withLastAnswer } from '../shared-read.ts'
import { overviewOf } from './overview.ts'

interface OverviewRoutesParts extends Pick<Dependencies, 'eraser' | 'partitionCount' | 'nowMs'> {
  readonly readSamples: () => SamplerState
  readonly readReachedLimits: () => Promise<readonly ReachedLimit[]>
  readonly countMembers: CountMembers
}

/** The Overview shows the last known erasures rather than wait longer. */
const ERASURES = { againAfterMs: 5_000, waitMs: 500 }

export function createOverviewRoutes({
  eraser,
  readSamples,
  readReachedLimits,
  countMembers,
  partitionCount,
  nowMs,
}: OverviewRoutesParts) {
  /** Counts the members of groups that own partitions unknown to the console. */
  async function readMembers(services: readonly ServiceReading[]): Promise<ReadonlyMap<string, number>> {
    const asked = services.filter((reading) => countUnowned(reading, partitionCount) > 0)
    const counts = await Promise.all(asked.map(async ({ service }) => [service, await countMembers(service)] as const))
    return new Map(counts.flatMap(([service, count]) => (count === undefined ? [] : [[service, count] as const])))
  }

  const readErasures = withLastAnswer(
    createSharedRead(async (): Promise<readonly UnfinishedErasure[]> => {
      const read = await eraser.readUnfinished({})
      // A silent eraser is a finding of its own.
      return read.outcome === 'answered' ? read.answer.erasures : []
    }, ERASURES.againAfterMs),
    ERASURES.waitMs,
    [],
  )

  return serveApi(overviewApi, {
    readOverview: async () => {
      const state = readSamples()
      const [reached, members, erasures] = await Promise.all([
        readReachedLimits(),
        readMembers(state.services),
        readErasures(),
      ])
      return answered(overviewOf({ ...state, reached, members, erasures, partitionCount, nowMs: nowMs() }))
    },
  })
}
