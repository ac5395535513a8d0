/** A new `Idempotency-Key`. It begins with the time, so that keys sort by age. Works without https, unlike `randomUUID`. */
export function createRequestKey(): string {
  return `${Date.now()}-${crypto.getRandomValues(new Uint32Array(4)).join('')}`
}

/** How old a key is, in ms of this browser's clock. */
export function ageOfKey(key: string): number {
  return Date.now() - Number.parseInt(key, 10)
}
