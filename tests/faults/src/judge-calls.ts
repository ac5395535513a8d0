import type { FindingsOfKind } from '@nextvisit/audit'
import type { Call } from './callers.ts'

export interface Recovery {
  /** Whether the gateway said so, in time. */
  readonly isReady: boolean
  /** On the clock of the calls: from then on nothing is wrong any more. */
  readonly calmSince: number
}

/** No request fails for so long. */
const CALM_MS = 3_000
const ROUTES = 4

/** Whether, of late, none of the calls that were sent since `since` has failed, and some were acknowledged on each route. */
export function isCalm(calls: readonly Call[], since: number, now: number): boolean {
  const sent = calls.filter(({ sentAt }) => sentAt >= since)
  const quietSince = Math.max(since, ...sent.filter(isRefused).map(({ sentAt, elapsedMs }) => sentAt + elapsedMs))
  const acknowledged = sent.filter((call) => call.sentAt >= quietSince && isAcknowledged(call))
  return now - quietSince >= CALM_MS && new Set(acknowledged.map(({ route }) => route)).size === ROUTES
}

/**
 * What the answers alone say against a run. No fault is a reason to refuse a good request for ever; the same key at once
 * may be in a conflict. And a fault that is over must be over for the callers, too.
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

/** Answered 503, or not at all. */
export function isRefused({ status }: Call): boolean {
  return status === undefined || status === 503
}

export function isAcknowledged({ status = 0 }: Call): boolean {
  return status >= 200 && status < 300
}

function finding(kind: string, all: FindingsOfKind['examples']): FindingsOfKind[] {
  return all.length === 0 ? [] : [{ kind, count: all.length, examples: all.slice(0, 5) }]
}
