import { answered, type ApiRoute, apiRoute } from '../http/api-route.ts'
import type { Sampler } from '../metrics/sampler.ts'
import type { ReachedLimit } from '../registry/reached-limits.ts'
import { Nothing } from '../session/api.ts'
import { OverviewAnswer } from './api.ts'
import { overviewOf } from './overview.ts'

export interface OverviewRouteParts {
  readonly sampler: Pick<Sampler, 'look'>
  readonly readReachedLimits: () => Promise<readonly ReachedLimit[]>
  readonly partitionCount: number
  readonly nowMs: () => number
}

/** `GET api/overview` */
export function createOverviewRoute({
  sampler,
  readReachedLimits,
  partitionCount,
  nowMs,
}: OverviewRouteParts): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: 'overview',
    role: 'viewer',
    input: Nothing,
    answer: OverviewAnswer,
    handle: async () => {
      const reached = await readReachedLimits()
      return answered(overviewOf({ ...sampler.look(), reached, partitionCount, nowMs: nowMs() }))
    },
  })
}
