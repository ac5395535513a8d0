/** A new `Idempotency-Key`. It begins with the time, so that keys sort by age. Works without https, unlike `randomUUID`. */
export function createRequestKey(): string {
  const random = crypto.getRandomValues(new Uint32Array(4))
  return `${Date.now()}-${Array.from(random, (part) => part.toString(36)).join('')}`
}

/** How old a key is, in ms of this browser's clock. */
export function ageOfKey(key: string): number {
  return Date.now() - Number.parseInt(key, 10)
}
