/** Maximum number of links of a span. */
export const MAX_LINKS = 128

const SAMPLED = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f][13579bdf]$/
const LAST_DIGIT = 54
const ZERO = 48

/** Returns true for the W3C `traceparent` of a sampled trace. Anyone may have written it: it may have any form. */
export function isSampled(traceparent: string | undefined): traceparent is string {
  // Almost all are not sampled, and end with 0.
  return traceparent !== undefined && traceparent.charCodeAt(LAST_DIGIT) !== ZERO && SAMPLED.test(traceparent)
}

/** Returns the sampled contexts among these, each once: the first {@link MAX_LINKS}. */
export function sampledContexts(traceparents: Iterable<string | undefined>): readonly string[] {
  let found: Set<string> | undefined
  for (const traceparent of traceparents) {
    if (!isSampled(traceparent)) continue
    found ??= new Set()
    found.add(traceparent)
    if (found.size === MAX_LINKS) break
  }
  return found ? [...found] : []
}

/** Splits a `traceparent` of version 00. */
export function idsOf(traceparent: string): { readonly traceId: string; readonly spanId: string } {
  return { traceId: traceparent.slice(3, 35), spanId: traceparent.slice(36, 52) }
}

/**
 * Returns the fields that join a log line to its trace, named as OpenTelemetry names them in JSON logs. None if the trace is not
 * sampled: no span would be found.
 */
export function traceFields(traceparent: string | undefined): { readonly trace_id?: string } {
  return isSampled(traceparent) ? { trace_id: idsOf(traceparent).traceId } : {}
}

/** Returns the labels of an exemplar. None if the trace is not sampled. */
export function exemplarOf(traceparent: string | undefined): { readonly trace_id?: string; readonly span_id?: string } {
  if (!isSampled(traceparent)) return {}
  const { traceId, spanId } = idsOf(traceparent)
  return { trace_id: traceId, span_id: spanId }
}
