import { OverviewAnswer } from '../api/overview.ts'
import { Nothing } from '../api/session.ts'
import { answered, type ApiRoute, apiRoute } from '../http/api-route.ts'
import type { Sampler } from '../metrics/sampler.ts'
import { overviewOf } from '../overview/overview.ts'

/** `GET api/overview` */
export function createOverviewRoute(sampler: Sampler, partitionCount: number, nowMs: () => number): ApiRoute {
  return apiRoute({
    method: 'GET',
    path: 'overview',
    role: 'viewer',
    input: Nothing,
    answer: OverviewAnswer,
    handle: () => answered(overviewOf({ ...sampler.look(), partitionCount, nowMs: nowMs() })),
  })
}
