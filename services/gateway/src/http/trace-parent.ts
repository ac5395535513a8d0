const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/
/** Version 00 ends after the flags. */
const TOO_LONG = /^00-.{52}./
const NOT_SAMPLED = '00'

/**
 * Returns the `traceparent` for a request's records (W3C Trace Context): the caller's trace, or the request id without
 * dashes as a new one. The parent is this gateway, whose span is the random half of the request id.
 */
export function traceParentOf(header: string | string[] | undefined, requestId: string): string {
  const given = typeof header === 'string' && !TOO_LONG.test(header) ? TRACE_PARENT.exec(header) : null
  const traceId = given?.[1] ?? requestId.replaceAll('-', '')
  const spanId = requestId.slice(19).replace('-', '')
  return `00-${traceId}-${spanId}-${given?.[2] ?? NOT_SAMPLED}`
}
