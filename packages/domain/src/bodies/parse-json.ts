import { BODY_LIMITS, isStorable, mayHoldUnstorable } from '@nextvisit/contracts'
import { BODY_RULES } from './body-rules.ts'
import { endOfString } from './end-of-string.ts'
import { isJsonObject, type JsonObject } from './json-object.ts'
import { markInexactNumbers, markNotANumber } from './mark-inexact-numbers.ts'
import { type BodyRule, reject, type Rejection } from './rejection.ts'

const BODY = 'The body'
const BODY_DEPTH: DepthLimit = { levels: BODY_LIMITS.depth, tooDeep: BODY_RULES.tooDeep }
// A byte order mark is kept, so that JSON.parse refuses it.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Maximum number of levels, and the rule that a deeper value breaks. */
interface DepthLimit {
  readonly levels: number
  readonly tooDeep: (what: string) => Omit<BodyRule, 'when'>
}

interface ParseOptions {
  /** Names the body in messages. */
  readonly what?: string
  readonly depth?: DepthLimit
  /** Returns the part of the body whose depth and strings are checked. Default: all of it. */
  readonly partOf?: (body: JsonObject) => unknown
}

/** Functions that recurse over a body with more levels could overflow the stack. */
const MAX_UNCHECKED_LEVELS = 64

export type ParsedJson = { readonly outcome: 'ok'; readonly body: JsonObject } | Rejection

/**
 * Parses and checks the JSON object in a body (decisions.md, Order of checks: JSON). A number that JSON.parse would round is
 * read as Infinity.
 */
export function parseJson(bytes: Uint8Array, options: ParseOptions = {}): ParsedJson {
  const { what = BODY, depth = BODY_DEPTH, partOf } = options
  const text = decode(bytes)
  if (text === undefined) return reject(BODY_RULES.notUtf8(what))
  const isDeep = isDeeperThan(text, depth.levels)
  if (isDeep && (!partOf || isDeeperThan(text, MAX_UNCHECKED_LEVELS))) return reject(depth.tooDeep(what))
  const parsed = parseText(text, what)
  if (parsed.outcome === 'rejected' || !(isDeep || mayHoldUnstorable(text))) return parsed
  const part = partOf ? partOf(parsed.body) : parsed.body
  if (isDeep && hasMoreLevels(part, depth.levels)) return reject(depth.tooDeep(what))
  return isStorable(part) ? parsed : reject(BODY_RULES.notStorable(what))
}

/** Parses the JSON object in a body whose parts {@link checkJson} checks one by one. */
export function parseUncheckedJson(bytes: Uint8Array): ParsedJson {
  const text = decode(bytes)
  return text === undefined ? reject(BODY_RULES.notUtf8(BODY)) : parseText(text, BODY)
}

/**
 * Parses as {@link parseUncheckedJson}, and takes `NaN` and `Infinity`, which Python writes, as numbers that would be rounded.
 * Only a body that is no JSON is read again.
 */
export function parsePythonJson(bytes: Uint8Array): ParsedJson {
  const parsed = parseUncheckedJson(bytes)
  if (parsed.outcome === 'ok') return parsed
  const text = decode(bytes)
  const marked = text === undefined ? undefined : markNotANumber(text)
  return marked === undefined ? parsed : parseText(marked, BODY)
}

/** Makes the remaining checks of {@link parseJson} on a part that could have been a body. */
export function checkJson(part: JsonObject): Rejection | undefined {
  return checkDepth(part) ?? checkStrings(part)
}

/** Checks the depth of a part. Must come before any other function that recurses over it. */
export function checkDepth(part: JsonObject): Rejection | undefined {
  return hasMoreLevels(part, BODY_LIMITS.depth) ? reject(BODY_RULES.tooDeep(BODY)) : undefined
}

/** Checks that Postgres can store every string of a part. */
export function checkStrings(part: JsonObject): Rejection | undefined {
  return isStorable(part) ? undefined : reject(BODY_RULES.notStorable(BODY))
}

/** Returns whether a value has more levels, without looking further down. */
function hasMoreLevels(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((inner) => hasMoreLevels(inner, levels - 1))
  // Half the cost of `Object.values`. Objects from JSON inherit no enumerable name.
  for (const name in value) if (hasMoreLevels((value as JsonObject)[name], levels - 1)) return true
  return false
}

function parseText(text: string, what: string): ParsedJson {
  let body: unknown
  try {
    body = JSON.parse(markInexactNumbers(text))
  } catch {
    return reject(BODY_RULES.notJson(what))
  }
  return isJsonObject(body) ? { outcome: 'ok', body } : reject(BODY_RULES.notAnObject(what))
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

const QUOTE = 0x22

/** Returns whether JSON is nested deeper than `maxDepth`, by counting brackets outside strings. The text may be invalid. */
export function isDeeperThan(text: string, maxDepth: number): boolean {
  let depth = 0
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfString(text, i)
    // `[` and `{` differ by 0x20, as do their counterparts.
    else if ((code | 0x20) === 0x7b) {
      depth += 1
      if (depth > maxDepth) return true
    } else if ((code | 0x20) === 0x7d) depth -= 1
  }
  return false
}
