import type { FindingsOfKind } from '@nextvisit/audit'
import type { RecordedCall } from './recording-client.ts'

export interface Recovery {
  /** True if the gateway became ready again in time. */
  readonly isReady: boolean
  /** Time from which no request may fail any more, by the clock of the calls. */
  readonly calmSince: number
}

/** Time without failed requests after which the calls count as calm. */
export const CALM_MS = 3_000
const ROUTES = 5

/** Returns true if no call sent after `since` has failed recently, and calls on every route were acknowledged. */
export function isCalm(calls: readonly RecordedCall[], since: number, now: number, calmMs = CALM_MS): boolean {
  const sent = calls.filter(({ sentAt }) => sentAt >= since)
  const quietSince = Math.max(since, ...sent.filter(isRefused).map(({ sentAt, elapsedMs }) => sentAt + elapsedMs))
  const acknowledged = sent.filter((call) => call.sentAt >= quietSince && isAcknowledged(call))
  return now - quietSince >= calmMs && new Set(acknowledged.map(({ route }) => route)).size === ROUTES
}

/**
 * Finds errors in the answers. During a fault, a request may get 503 or no answer, and a repeated key may get 409.
 * Any other refusal is an error. After the fault, requests must be acknowledged again.
 */
export function judgeCalls(calls: readonly RecordedCall[], { isReady, calmSince }: Recovery): FindingsOfKind[] {
  const wrong = calls.filter((call) => !isExpected(call))
  const inCalm = calls.filter(({ sentAt }) => sentAt >= calmSince)
  return [
    ...finding(
      'answers: unexpected',
      wrong.map(({ status, requestId = '' }) => ({ about: requestId, says: `answered ${status}` })),
    ),
    ...finding(
      'not ready again',
      isReady ? [] : [{ about: 'gateway', says: 'its /readyz did not answer 200 in time' }],
    ),
    ...finding(
      'answers: none again',
      inCalm.some(isAcknowledged)
        ? []
        : [{ about: 'gateway', says: `acknowledged none of ${inCalm.length} requests after the fault` }],
    ),
  ]
}

function isExpected(call: RecordedCall): boolean {
  const { status = 0, keyed } = call
  return isRefused(call) || [200, 202].includes(status) || (keyed && status === 409)
}

/** Returns true for a call with 503 or without an answer. */
export function isRefused({ status }: RecordedCall): boolean {
  return status === undefined || status === 503
}

export function isAcknowledged({ status = 0 }: RecordedCall): boolean {
  return status >= 200 && status < 300
}

function finding(kind: string, all: FindingsOfKind['examples']): FindingsOfKind[] {
  return all.length === 0 ? [] : [{ kind, count: all.length, examples: all.slice(0, 5) }]
}
