import type { FindingsOfKind } from '@nextvisit/audit'
import type { Call } from './recording-client.ts'

export interface Recovery {
  /** Whether the gateway became ready again in time. */
  readonly isReady: boolean
  /** From this time on, by the clock of the calls, nothing may go wrong any more. */
  readonly calmSince: number
}

/** Calm means that no request fails for this time. */
const CALM_MS = 3_000
const ROUTES = 4

/** Whether no call sent since `since` has failed recently, and calls on every route were acknowledged. */
export function isCalm(calls: readonly Call[], since: number, now: number): boolean {
  const sent = calls.filter(({ sentAt }) => sentAt >= since)
  const quietSince = Math.max(since, ...sent.filter(isRefused).map(({ sentAt, elapsedMs }) => sentAt + elapsedMs))
  const acknowledged = sent.filter((call) => call.sentAt >= quietSince && isAcknowledged(call))
  return now - quietSince >= CALM_MS && new Set(acknowledged.map(({ route }) => route)).size === ROUTES
}

/**
 * Finds errors in the answers alone. During a fault, a request may get 503 or no answer, and a repeated key may get 409.
 * Any other refusal is wrong. After the fault, requests must be acknowledged again.
 */
export function judgeCalls(calls: readonly Call[], { isReady, calmSince }: Recovery): FindingsOfKind[] {
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

function isExpected(call: Call): boolean {
  const { status = 0, keyed } = call
  return isRefused(call) || [200, 202].includes(status) || (keyed && status === 409)
}

/** Whether a call was answered 503 or not at all. */
export function isRefused({ status }: Call): boolean {
  return status === undefined || status === 503
}

export function isAcknowledged({ status = 0 }: Call): boolean {
  return status >= 200 && status < 300
}

function finding(kind: string, all: FindingsOfKind['examples']): FindingsOfKind[] {
  return all.length === 0 ? [] : [{ kind, count: all.length, examples: all.slice(0, 5) }]
}
