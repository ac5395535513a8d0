/** Creates an `Idempotency-Key`. It begins with the time, so that keys sort by age. Works without https, unlike `randomUUID`. */
export function createRequestKey(): string {
  return `${Date.now()}-${crypto.getRandomValues(new Uint32Array(4)).join('')}`
}

/** Returns the age of a key in ms by this browser's clock. */
export function ageOfKey(key: string): number {
  return Date.now() - Number.parseInt(key, 10)
}
