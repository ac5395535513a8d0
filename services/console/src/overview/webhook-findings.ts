import { type UnhealthyEndpoint, WEBHOOK_FAILS_AFTER_MS, WEBHOOK_LAGS_AFTER_MS } from '@nextvisit/contracts'
import type { Finding } from './api.ts'

const RUNBOOK = 'webhooks'
/** Further ones are counted. */
const MAX_NAMED = 3
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/**
 * Lists webhook endpoints that are disabled although the workspace file enables them, that fail, or that lag: in this order, and
 * the longest first. Nothing is lost meanwhile.
 */
export function webhookFindings(endpoints: readonly UnhealthyEndpoint[], nowMs: number): readonly Finding[] {
  const found = endpoints
    .flatMap((endpoint) => problemOf(endpoint, nowMs) ?? [])
    .toSorted((one, other) => one.rank - other.rank || other.forMs - one.forMs)
  const listed = found.slice(0, MAX_NAMED).map(({ finding }) => finding)
  const more = found.length - listed.length
  if (more === 0) return listed
  const text =
    more === 1
      ? 'Another webhook endpoint needs attention. Webhooks lists the endpoints of each project.'
      : `${more} more webhook endpoints need attention. Webhooks lists the endpoints of each project.`
  return [...listed, { severity: 'warning', text, asOf: null, runbook: RUNBOOK, links: [] }]
}

interface Problem {
  readonly finding: Finding
  readonly rank: number
  readonly forMs: number
}

function problemOf(endpoint: UnhealthyEndpoint, nowMs: number): Problem | undefined {
  const { organization, project, endpointId, disabledAt, because } = endpoint
  const name = `The webhook endpoint ${endpointId} of ${organization}/${project}`
  const msSince = (at: string | undefined): number => (at === undefined ? 0 : nowMs - Date.parse(at))
  const [failingMs, oldestMs] = [msSince(endpoint.failingSince), msSince(endpoint.pendingSince)]
  const link = { screen: 'webhook' as const, organization, project, endpointId }
  const problem = (severity: Finding['severity'], rank: number, forMs: number, text: string): Problem => ({
    finding: { severity, text, asOf: null, runbook: RUNBOOK, links: [link] },
    rank,
    forMs,
  })
  if (disabledAt !== undefined) {
    const forMs = msSince(disabledAt)
    const cause = because === undefined ? '' : ` ${asSentence(because)}`
    const text = `${name} has been disabled for ${inWords(forMs)}.${cause} Its deliveries wait until an operator enables it; none is lost.`
    return problem('critical', 0, forMs, text)
  }
  if (failingMs > WEBHOOK_FAILS_AFTER_MS) {
    const text = `${name} has been failing for ${inWords(failingMs)}: no attempt has succeeded. After five days it is disabled.`
    return problem('warning', 1, failingMs, text)
  }
  if (oldestMs > WEBHOOK_LAGS_AFTER_MS)
    return problem(
      'warning',
      2,
      oldestMs,
      `${name} lags: its oldest delivery has been pending for ${inWords(oldestMs)}.`,
    )
  return undefined
}

/** Formats a duration as `20 min`, `5 h` or `3 days`. */
function inWords(ms: number): string {
  if (ms < 2 * HOUR_MS) return `${Math.max(0, Math.round(ms / MINUTE_MS))} min`
  if (ms < 2 * DAY_MS) return `${Math.round(ms / HOUR_MS)} h`
  return `${Math.round(ms / DAY_MS)} days`
}

/** Ends a reason like a sentence. */
function asSentence(reason: string): string {
  const text = `${reason.charAt(0).toUpperCase()}${reason.slice(1)}`
  return text.endsWith('.') ? text : `${text}.`
}
