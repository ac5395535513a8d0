import { memberIn } from '@nextvisit/domain'

/** A line with nothing but a bracket begins a value over several lines. */
const LONE_BRACKET = /^\s*[[{]\s*$/
const JOINED_OBJECTS = /\}\s*\{/
/** Python's `json.dumps` writes these. */
const NOT_A_NUMBER = /[:,[]\s*-?(?:NaN|Infinity)\s*[,\]}]/

/** Returns a hint if a refused line is only a part of an object, has several, or has numbers that JSON does not have. */
export function lineShape(bytes: Uint8Array): readonly string[] {
  const text = Buffer.from(bytes).toString('utf8')
  const value = jsonIn(text)
  if (value === undefined) {
    if (LONE_BRACKET.test(text)) return ['an object must be on one line, as jq -c writes it']
    if (NOT_A_NUMBER.test(text)) return ['NaN and Infinity are no JSON: write null, or omit the member']
    return JOINED_OBJECTS.test(text) ? ['the line has several objects: put each on a line of its own'] : []
  }
  if (Array.isArray(value)) return ["the line is an array: put each item on a line of its own (jq -c '.[]')"]
  if (!Array.isArray(memberIn(value, 'results'))) return []
  return ["the line is a page of an API: put each of its results on a line of its own (jq -c '.results[]')"]
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
