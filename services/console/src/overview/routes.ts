import type { Dependencies } from '../dependencies.ts'
import { answered, serveApi } from '../http/api-route.ts'
import type { SamplerState } from '../metrics/sampler.ts'
import type { ServiceReading } from '../metrics/service-readings.ts'
import type { ReachedLimit } from '../registry/reached-limits.ts'
import { overviewApi } from './api.ts'
import { countUnowned } from './findings.ts'
import type { CountMembers } from './group-members.ts'
import { overviewOf } from './overview.ts'

interface OverviewRoutesParts extends Pick<Dependencies, 'partitionCount' | 'nowMs'> {
  readonly readSamples: () => SamplerState
  readonly readReachedLimits: () => Promise<readonly ReachedLimit[]>
  readonly countMembers: CountMembers
}

export function createOverviewRoutes({
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

  return serveApi(overviewApi, {
    readOverview: async () => {
      const state = readSamples()
      const [reached, members] = await Promise.all([readReachedLimits(), readMembers(state.services)])
      return answered(overviewOf({ ...state, reached, members, partitionCount, nowMs: nowMs() }))
    },
  })
}
