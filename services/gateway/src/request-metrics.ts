import { Histogram, type Registry } from 'prom-client'
import type { AnswerRequestParts } from './http/answer-request.ts'

/** Durations by route pattern and status: never a URL. */
export function createRequestMetrics(registry: Registry): AnswerRequestParts['onAnswered'] {
  const durations = new Histogram({
    name: 'nextvisit_gateway_request_seconds',
    help: 'From the first byte of a request to its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.5],
    registers: [registry],
  })
  return ({ method, pattern }, status, durationMs) =>
    durations.observe({ method, route: pattern, status: String(status) }, durationMs / 1_000)
}
