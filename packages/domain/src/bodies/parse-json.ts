import { isStorable } from '@nextvisit/contracts'
import { BODY_LIMITS, BODY_RULES } from './body-rules.ts'
import { isJsonObject, type JsonObject } from './json-object.ts'
import { reject, type Rejection } from './rejection.ts'

// Keeps a byte order mark, which JSON.parse then refuses.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export type ParsedJson = { readonly outcome: 'ok'; readonly body: JsonObject } | Rejection

/** The JSON object in a body (decisions.md, Order of checks: JSON). `what` names it in a message. */
export function parseJson(bytes: Uint8Array, what = 'The body'): ParsedJson {
  const text = decode(bytes)
  if (text === undefined) return reject(BODY_RULES.notUtf8(what))
  // Before JSON.parse: what recurses over a parsed value could overflow the stack.
  if (isDeeperThan(text, BODY_LIMITS.depth)) return reject(BODY_RULES.tooDeep(what))
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return reject(BODY_RULES.notJson(what))
  }
  if (!isJsonObject(body)) return reject(BODY_RULES.notAnObject(what))
  // Past fatal UTF-8 only an escape brings in such a character: look closer only where there is one.
  if (/\\u(?:0000|[dD][89a-fA-F])/.test(text) && !isStorable(body)) return reject(BODY_RULES.notStorable(what))
  return { outcome: 'ok', body }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Counts brackets outside strings; right for JSON, and for what is not JSON it does not matter. */
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

/** Where the string that begins at a quote ends: most of a body is strings, and `indexOf` skips them quickly. */
function endOfString(text: string, beginsAt: number): number {
  for (let end = text.indexOf('"', beginsAt + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return end
  }
  return text.length
}
