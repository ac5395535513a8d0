import type { Dependencies } from '../dependencies.ts'
import { answered, serveApi } from '../http/api-route.ts'
import type { SamplerState } from '../metrics/sampler.ts'
import type { ReachedLimit } from '../registry/reached-limits.ts'
import { overviewApi } from './api.ts'
import { overviewOf } from './overview.ts'

interface OverviewRoutesParts extends Pick<Dependencies, 'partitionCount' | 'nowMs'> {
  readonly readSamples: () => SamplerState
  readonly readReachedLimits: () => Promise<readonly ReachedLimit[]>
}

export function createOverviewRoutes({ readSamples, readReachedLimits, partitionCount, nowMs }: OverviewRoutesParts) {
  return serveApi(overviewApi, {
    readOverview: async () => {
      const reached = await readReachedLimits()
      return answered(overviewOf({ ...readSamples(), reached, partitionCount, nowMs: nowMs() }))
    },
  })
}
