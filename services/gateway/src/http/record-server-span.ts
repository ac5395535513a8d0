import { isSampled, type Tracing } from '@nextvisit/service-kit'
import type { RequestState } from './check-request.ts'

/** Records the span of a sampled request. The path is left out: it may name a user. `status`: absent if the caller has left. */
export function recordServerSpan({ record }: Tracing, state: RequestState, status: number | undefined): void {
  const { route, requestId, key, beganAt, trace } = state
  if (!isSampled(trace.traceparent)) return
  const { method, pattern } = route
  record({
    name: `${method} ${pattern}`,
    kind: 'server',
    causes: trace.callers === undefined ? [] : [trace.callers],
    context: trace.traceparent,
    beganAt,
    endedAt: performance.now(),
    attributes: {
      'http.request.method': method,
      'http.route': pattern,
      'http.response.header.x-request-id': [requestId],
      ...(status !== undefined && { 'http.response.status_code': status }),
      ...(key && { 'nextvisit.organization': key.project.organization, 'nextvisit.project': key.project.project }),
    },
    error: errorOf(status),
  })
}

/** Of a server, 4xx are no failures. */
function errorOf(status: number | undefined): string | undefined {
  if (status === undefined) return 'caller_left'
  return status >= 500 ? String(status) : undefined
}
