/** A plain object out of `JSON.parse`. Its keys may be any words, `__proto__` among them: read members by `memberOf`. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An own member, and `null` counts as left out (decisions.md, Words). */
export function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined
}

/** {@link memberOf} of what may be no object: then it has no members. */
export function memberIn(value: unknown, name: string): unknown {
  return isJsonObject(value) ? memberOf(value, name) : undefined
}
