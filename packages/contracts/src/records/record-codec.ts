import type { z } from 'zod'
import {
  type FormFact,
  RECORDS,
  type RecordType,
  type SealedFormFact,
  type SealedUserFact,
  schemaVersionOf,
  type UserFact,
} from './records.ts'
import { hasPersonalMembers, type Seal, sealingContextOf, sealMembers } from './sealed-members.ts'
import { TraitOperations } from './traits.ts'
import { PERSONAL_MEMBERS } from './user-events.ts'

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
  /** Redis channel of the gateway that waits for the evaluator's reply. Not a fact, therefore not in the value. */
  replyTo: 'reply-to',
  /**
   * The reason why a reader of the log does not hand on the content of a record, or of a batch of them: too large, or
   * undecodable. `omittedContent` in packages/log writes it.
   */
  omittedBecause: 'omitted-because',
} as const

const TYPES: ReadonlyMap<string, RecordType> = new Map(Object.entries(RECORDS))

interface RecordFact {
  readonly id: string
  readonly type: string
}

interface EncodedRecord {
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

interface EncodeOptions {
  /** The writer: `gateway`, `form-trigger-evaluator`, `import` or `cli`. */
  readonly source: string
  /** ISO instant for `ce_time`. */
  readonly time: string
  readonly traceparent?: string | undefined
  readonly replyTo?: string | undefined
  /** Seals the personal members of the fact. Required if it has any. */
  readonly seal?: Seal | undefined
}

/** Encodes a fact as the value and headers of a Kafka message. Throws if personal members would be in clear, for lack of a seal. */
export function encodeRecord(fact: RecordFact, options: EncodeOptions): EncodedRecord {
  const type = TYPES.get(fact.type)
  const headers: Record<string, string> = {
    [HEADERS.id]: fact.id,
    [HEADERS.type]: fact.type,
    [HEADERS.source]: options.source,
    [HEADERS.time]: options.time,
    [HEADERS.specVersion]: '1.0',
    [HEADERS.contentType]: 'application/json',
    [HEADERS.schemaVersion]: String(type ? schemaVersionOf(type) : 1),
  }
  if (options.traceparent) headers[HEADERS.traceparent] = options.traceparent
  if (options.replyTo) headers[HEADERS.replyTo] = options.replyTo
  return { value: JSON.stringify(factInLog(fact, options.seal)), headers }
}

function factInLog(fact: RecordFact, seal: Seal | undefined): object {
  if (seal) return sealMembers(fact, seal)
  if (hasPersonalMembers(fact)) throw new Error(`${fact.type} ${fact.id} must be sealed`)
  return fact
}

export type Decoded<Fact> =
  | { readonly outcome: 'ok'; readonly fact: Fact }
  | { readonly outcome: 'rejected'; readonly reason: string }

/**
 * Decodes a Kafka message. Never throws for data: consumers turn a rejection into a dead letter. Rejects null and omitted
 * values, a missing or unknown `schema-version`, values that are not JSON or do not fit the schema, strings that Postgres cannot
 * store (U+0000, lone surrogates), and nesting so deep that the search for such strings overflows the stack.
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
  if (headers[HEADERS.omittedBecause] !== undefined)
    return rejected(`content is too large or undecodable: see the header ${HEADERS.omittedBecause}`)
  const version = Number(headers[HEADERS.schemaVersion])
  if (!Number.isInteger(version) || version < 1)
    return rejected(`header ${HEADERS.schemaVersion} is missing or not a number`)
  const json = parseStorable(value.toString('utf8'))
  if (json.outcome === 'rejected') return json
  const current = upcast(json.fact, version)
  return current.outcome === 'rejected' ? current : fit(schema, current.fact)
}

/**
 * Reads the sealed members of a fact: `open` decrypts base64 with the key that `sealed` names, in a context; undefined: the
 * bytes were changed, or sealed for another record. Rejects such members, and those that do not fit their schema. A fact
 * without sealed members is returned as it is.
 */
export function openFact<Sealed extends SealedUserFact | SealedFormFact>(
  fact: Sealed,
  open: (bytes: string, context: string) => string | undefined,
): Decoded<Opened<Sealed>> {
  if (!('sealed' in fact) || fact.sealed === undefined)
    return { outcome: 'ok', fact: fact as unknown as Opened<Sealed> }
  const { sealed, ...clear } = fact
  const text = open(sealed.bytes, sealingContextOf(fact))
  if (text === undefined) return rejected('sealed: is damaged, or belongs to another record')
  const json = parseStorable(text)
  const members = json.outcome === 'rejected' ? json : fit<object>(PERSONAL_MEMBERS[fact.type], json.fact)
  return members.outcome === 'rejected'
    ? members
    : { outcome: 'ok', fact: { ...clear, ...members.fact } as unknown as Opened<Sealed> }
}

/** The readable form of a fact. */
type Opened<Sealed extends SealedUserFact | SealedFormFact> = Extract<
  UserFact | FormFact,
  { readonly type: Sealed['type'] }
>

function parseStorable(text: string): Decoded<unknown> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return rejected('value is not JSON')
  }
  if (mayHoldUnstorable(text) && !isStorable(json)) return rejected('value holds U+0000 or a lone surrogate')
  return { outcome: 'ok', fact: json }
}

function fit<Fact>(schema: z.ZodType<Fact>, json: unknown): Decoded<Fact> {
  const parsed = schema.safeParse(json)
  if (parsed.success) return { outcome: 'ok', fact: parsed.data }
  const issue = parsed.error.issues[0]
  const message = issue?.message ?? 'does not fit the schema'
  // This message of zod quotes the names.
  const shown = message.startsWith('Unrecognized key') ? 'has unknown members' : message
  return rejected(`${nameOf(issue?.path ?? []) || 'value'}: ${shown}`)
}

/**
 * Returns the name of a member for the reason, which is stored, logged and never erased. Names that callers chose, of traits
 * and properties, are `…`.
 */
function nameOf([member, ...path]: readonly PropertyKey[]): string {
  if (member === undefined) return ''
  const free = path.findIndex((step) => typeof step !== 'number' && !(String(step) in TraitOperations.shape))
  const shown = free === -1 ? path : [...path.slice(0, free), '…']
  return [member, ...shown].map(String).join('.')
}

function upcast(json: unknown, version: number): Decoded<unknown> {
  const name = typeof json === 'object' && json !== null ? (json as Record<string, unknown>)['type'] : undefined
  const type = typeof name === 'string' ? TYPES.get(name) : undefined
  if (!type) return rejected('type is unknown')
  const newest = schemaVersionOf(type)
  const { oldestVersion = 1, upcasters = [] } = type
  if (version > newest) return rejected(`schema-version ${version} is newer than this service knows (${newest})`)
  if (version < oldestVersion)
    return rejected(`schema-version ${version} is older than this service reads (${oldestVersion})`)
  let value = json as Record<string, unknown>
  for (const step of upcasters.slice(version - oldestVersion)) value = step(value)
  return { outcome: 'ok', fact: value }
}

/**
 * Returns true if a JSON value in valid UTF-8 must be checked with {@link isStorable}: only an escape sequence can produce a
 * character that Postgres cannot store.
 */
export function mayHoldUnstorable(json: string): boolean {
  return /\\u(?:0000|[dD][89a-fA-F])/.test(json)
}

/** Returns true if Postgres can store every string in a JSON value, keys included. */
export function isStorable(json: unknown): boolean {
  if (typeof json === 'string') return json.isWellFormed() && !json.includes('\u0000')
  if (typeof json !== 'object' || json === null) return true
  if (Array.isArray(json)) return json.every(isStorable)
  // Half the cost of `Object.entries`. Objects from JSON inherit no enumerable name.
  for (const name in json) if (!isStorable(name) || !isStorable((json as Record<string, unknown>)[name])) return false
  return true
}

function rejected(reason: string): { readonly outcome: 'rejected'; readonly reason: string } {
  return { outcome: 'rejected', reason }
}
