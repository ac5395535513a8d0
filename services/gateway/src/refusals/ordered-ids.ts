import { randomUUIDv7 } from 'node:crypto'

/** Largest count in the 12 bits after the version. */
const MAX_COUNT = 0xfff

/**
 * Returns a function that creates UUIDv7s, each greater than the one before. Those of `randomUUIDv7` are in random order
 * within a millisecond. The count is method 1 of RFC 9562, section 6.2.
 */
export function createOrderedIds(nowMs: () => number = Date.now): () => string {
  let ms = 0
  let count = 0
  return () => {
    const now = nowMs()
    if (now > ms) [ms, count] = [now, 0]
    else if (count < MAX_COUNT) count += 1
    else [ms, count] = [ms + 1, 0]
    const time = hex(ms, 12)
    const random = randomUUIDv7().slice('xxxxxxxx-xxxx-7xxx'.length)
    return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(count, 3)}${random}`
  }
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}
