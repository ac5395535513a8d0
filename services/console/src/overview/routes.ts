import { answered, serveApi } from '../http/api-route.ts'
import type { Sampler } from '../metrics/sampler.ts'
import type { ReachedLimit } from '../registry/reached-limits.ts'
import { overviewApi } from './api.ts'
import { overviewOf } from './overview.ts'

interface OverviewRoutesParts {
  readonly sampler: Pick<Sampler, 'look'>
  readonly readReachedLimits: () => Promise<readonly ReachedLimit[]>
  readonly partitionCount: number
  readonly nowMs: () => number
}

export function createOverviewRoutes({ sampler, readReachedLimits, partitionCount, nowMs }: OverviewRoutesParts) {
  return serveApi(overviewApi, {
    readOverview: async () => {
      const reached = await readReachedLimits()
      return answered(overviewOf({ ...sampler.look(), reached, partitionCount, nowMs: nowMs() }))
    },
  })
}
