import { isSampled, type Tracing } from '@nextvisit/service-kit'
import type { PendingDelivery } from './due-turns.ts'
import type { AttemptResult } from './send-request.ts'

interface Attempt {
  readonly url: URL
  readonly endpointId: string
  readonly delivery: PendingDelivery
  readonly result: AttemptResult
  /** A `performance.now()` instant. */
  readonly beganAt: number
}

/** Records the span of an attempt to deliver a record of a sampled request. Of the URL, it has the host only: paths may be secret. */
export function recordAttemptSpan({ record }: Tracing, { url, endpointId, delivery, result, beganAt }: Attempt): void {
  const { traceparent, webhookId, type, round } = delivery
  if (!isSampled(traceparent)) return
  const { outcome, httpStatus } = result
  record({
    name: 'POST webhook',
    kind: 'client',
    causes: [traceparent],
    beganAt,
    endedAt: performance.now(),
    attributes: {
      'http.request.method': 'POST',
      'server.address': url.hostname,
      'server.port': Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
      ...(httpStatus !== undefined && { 'http.response.status_code': httpStatus }),
      ...(round > 0 && { 'http.request.resend_count': round }),
      'nextvisit.webhook.id': webhookId,
      'nextvisit.webhook.type': type,
      'nextvisit.webhook.endpoint': endpointId,
    },
    error: outcome === 'delivered' ? undefined : httpStatus === undefined ? outcome : String(httpStatus),
  })
}
