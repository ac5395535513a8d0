import type { z } from 'zod'

/** Header names, from CloudEvents' Kafka binding. */
export const HEADERS = {
  id: 'ce_id',
  type: 'ce_type',
  source: 'ce_source',
  time: 'ce_time',
  specVersion: 'ce_specversion',
  contentType: 'content-type',
  schemaVersion: 'schema-version',
  traceparent: 'traceparent',
  /** Redis channel of the gateway that waits for the evaluator's reply. It is not a fact, so it is not in the value. */
  replyTo: 'reply-to',
} as const

/** The schema version that is written now, for each type of record. */
export const SCHEMA_VERSIONS: Readonly<Record<string, number>> = {
  IdentifyRequested: 1,
  EventTracked: 1,
  VisitAnswered: 1,
  FormQueued: 1,
  FormDelivered: 1,
  FormCancelled: 1,
  FormExpired: 1,
  OrganizationConfigured: 1,
}

/** Converts version n of a type to n + 1. The bytes in the log are never rewritten. */
type Upcaster = (value: Readonly<Record<string, unknown>>) => Record<string, unknown>
/** Empty until a type has a second version. */
const UPCASTERS: Readonly<Record<string, readonly Upcaster[]>> = {}

export interface EncodedRecord {
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

export interface EncodeOptions {
  /** The writer: `gateway`, `form-trigger-evaluator`, `import` or `cli`. */
  readonly source: string
  /** ISO instant for `ce_time`. */
  readonly time: string
  readonly traceparent?: string | undefined
  readonly replyTo?: string | undefined
}

/** Encodes a fact as the value and headers of a Kafka message. */
export function encodeRecord(
  fact: { readonly id: string; readonly type: string },
  options: EncodeOptions,
): EncodedRecord {
  const headers: Record<string, string> = {
    [HEADERS.id]: fact.id,
    [HEADERS.type]: fact.type,
    [HEADERS.source]: options.source,
    [HEADERS.time]: options.time,
    [HEADERS.specVersion]: '1.0',
    [HEADERS.contentType]: 'application/json',
    [HEADERS.schemaVersion]: String(SCHEMA_VERSIONS[fact.type] ?? 1),
  }
  if (options.traceparent) headers[HEADERS.traceparent] = options.traceparent
  if (options.replyTo) headers[HEADERS.replyTo] = options.replyTo
  return { value: JSON.stringify(fact), headers }
}

export type Decoded<Fact> =
  | { readonly outcome: 'ok'; readonly fact: Fact }
  | { readonly outcome: 'rejected'; readonly reason: string }

/**
 * The fact in a Kafka message, or the reason why it is rejected. Never throws for data: a consumer turns a rejection into
 * a dead letter. Rejected are: null values, a missing or unknown `schema-version`, values that are not JSON or do not fit
 * the schema, strings that Postgres cannot store (U+0000, lone surrogates), and nesting so deep that the search for such
 * strings overflows the stack.
 */
export function decodeRecord<Fact>(
  schema: z.ZodType<Fact>,
  value: Buffer | null,
  headers: Readonly<Record<string, string>>,
): Decoded<Fact> {
  try {
    return decode(schema, value, headers)
  } catch (error) {
    if (error instanceof RangeError) return rejected('value is nested too deep')
    throw error
  }
}

function decode<Fact>(
  schema: z.ZodType<Fact>,
  value: Buffer | null,
  headers: Readonly<Record<string, string>>,
): Decoded<Fact> {
  if (value === null) return rejected('value is null')
  const version = Number(headers[HEADERS.schemaVersion])
  if (!Number.isInteger(version) || version < 1)
    return rejected(`header ${HEADERS.schemaVersion} is missing or not a number`)
  const text = value.toString('utf8')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return rejected('value is not JSON')
  }
  // Only an escape sequence can bring such a character through JSON and UTF-8, so values without one are not searched.
  if (/\\u(0000|[dD][89a-fA-F])/.test(text) && !isStorable(json))
    return rejected('value holds U+0000 or a lone surrogate')
  const current = upcast(json, version)
  if (current.outcome === 'rejected') return current
  const parsed = schema.safeParse(current.fact)
  if (parsed.success) return { outcome: 'ok', fact: parsed.data }
  const issue = parsed.error.issues[0]
  return rejected(`${issue?.path.join('.') || 'value'}: ${issue?.message ?? 'does not fit the schema'}`)
}

function upcast(json: unknown, version: number): Decoded<unknown> {
  const type = typeof json === 'object' && json !== null ? (json as Record<string, unknown>)['type'] : undefined
  const newest = typeof type === 'string' ? SCHEMA_VERSIONS[type] : undefined
  if (newest === undefined) return rejected('type is unknown')
  if (version > newest) return rejected(`schema-version ${version} is newer than this service knows (${newest})`)
  let value = json as Record<string, unknown>
  for (const step of (UPCASTERS[type as string] ?? []).slice(version - 1)) value = step(value)
  return { outcome: 'ok', fact: value }
}

/** Whether Postgres can store every string in a JSON value, including keys. */
export function isStorable(json: unknown): boolean {
  if (typeof json === 'string') return json.isWellFormed() && !json.includes('\u0000')
  if (typeof json !== 'object' || json === null) return true
  if (Array.isArray(json)) return json.every(isStorable)
  // Half of what `Object.entries` costs. What came out of JSON inherits no name.
  for (const name in json) if (!isStorable(name) || !isStorable((json as Record<string, unknown>)[name])) return false
  return true
}

function rejected(reason: string): { readonly outcome: 'rejected'; readonly reason: string } {
  return { outcome: 'rejected', reason }
}
