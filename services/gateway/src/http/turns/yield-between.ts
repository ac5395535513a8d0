import { setImmediate as nextTurn } from 'node:timers/promises'

/** Bytes of items that take about a millisecond. After them, other requests have their turn. */
const BYTES_PER_TURN = 16_000
/** Least cost of an item, in bytes. */
const MIN_ITEM_BYTES = 320
const VALUE_BYTES = 8
/** Deeper values are refused unread. */
const MAX_LEVELS = 8

/**
 * Calls `act` for each item, in their order, and fewer large items a turn. `costOf` returns the bytes of JSON that cost
 * as much; default: the item's own, as far as they are worth counting.
 */
export async function yieldBetween<Item, Result>(
  items: readonly Item[],
  act: (item: Item, position: number) => Result,
  costOf: (item: Item) => number = (item) => costOfLength(lengthAsJson(item)),
): Promise<Result[]> {
  const results: Result[] = []
  let bytes = 0
  for (const [position, item] of items.entries()) {
    if (bytes >= BYTES_PER_TURN) {
      await nextTurn()
      bytes = 0
    }
    results.push(act(item, position))
    bytes += costOf(item)
  }
  return results
}

/** Returns the cost of an item with this number of bytes of JSON. */
export function costOfLength(bytes: number): number {
  return Math.max(MIN_ITEM_BYTES, bytes)
}

/** Estimates the length of a value as JSON, up to the length of a turn. Measuring it would cost more. */
function lengthAsJson(value: unknown, levels = MAX_LEVELS): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null || levels === 0) return VALUE_BYTES
  let bytes = VALUE_BYTES
  for (const name in value) {
    bytes += name.length + lengthAsJson((value as Record<string, unknown>)[name], levels - 1)
    if (bytes >= BYTES_PER_TURN) return bytes
  }
  return bytes
}
