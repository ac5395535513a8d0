/** A plain object from `JSON.parse`. Its keys may be any words, `__proto__` included, so read members with `memberOf`. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a value, or an empty object for an empty array: PHP writes an empty object as `[]`. */
export function emptyAsObject(value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 ? {} : value
}

/** Returns an own member. undefined: it is absent or `null` (decisions.md, Words). */
export function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined
}

/** Returns an own member of any value, as {@link memberOf}. A value that is not an object has none. */
export function memberIn(value: unknown, name: string): unknown {
  return isJsonObject(value) ? memberOf(value, name) : undefined
}
