const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/
/** Version 00 has nothing after the flags. */
const TOO_LONG = /^00-.{52}./
const NOT_SAMPLED = '00'

/**
 * The `traceparent` that goes into a request's records (W3C Trace Context): the caller's trace, or one of its own that is
 * the request id without dashes. The parent is this gateway: its span is named by the request id's random half.
 */
export function traceParentOf(header: string | string[] | undefined, requestId: string): string {
  const given = typeof header === 'string' && !TOO_LONG.test(header) ? TRACE_PARENT.exec(header) : null
  const traceId = given?.[1] ?? requestId.replaceAll('-', '')
  const spanId = requestId.slice(19).replace('-', '')
  return `00-${traceId}-${spanId}-${given?.[2] ?? NOT_SAMPLED}`
}
