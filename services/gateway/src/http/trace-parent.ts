import type { Sample } from './trace-sampler.ts'

const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
/** Version 00 ends after the flags. */
const TOO_LONG = /^00-.{52}./
const SAMPLED_FLAG = 1

/** The trace of a request (W3C Trace Context). */
export interface RequestTrace {
  /** The `traceparent` of the request's records: the gateway's span, with the gateway's decision whether the trace is sampled. */
  readonly traceparent: string
  /** The caller's span, as the parent of the gateway's. Absent: the trace begins here, or the caller does not record it. */
  readonly callers?: string | undefined
}

/**
 * Returns the trace of a request: the caller's, or the request id without dashes as a new one. The gateway's span is the random
 * half of the request id. `sample` decides whether it is sampled. Absent: it is not, even if the caller's is.
 */
export function traceOf(header: string | string[] | undefined, requestId: string, sample?: Sample): RequestTrace {
  const given = typeof header === 'string' && !TOO_LONG.test(header) ? TRACE_PARENT.exec(header) : null
  const [, traceId = requestId.replaceAll('-', ''), callersSpan, callersFlags] = given ?? []
  const spanId = requestId.slice(19).replace('-', '')
  const isCallers = callersFlags === undefined ? undefined : isFlagged(callersFlags)
  if (!sample?.(traceId, isCallers)) return { traceparent: `00-${traceId}-${spanId}-00` }
  return {
    traceparent: `00-${traceId}-${spanId}-01`,
    ...(isCallers && { callers: `00-${traceId}-${callersSpan}-01` }),
  }
}

function isFlagged(flags: string): boolean {
  return (Number.parseInt(flags, 16) & SAMPLED_FLAG) === 1
}
