import { setImmediate as nextTurn } from 'node:timers/promises'

/** So many bytes of items take about a millisecond: then other requests have their turn. */
const BYTES_PER_TURN = 16_000
/** What each item costs at least, however small it is. */
const MIN_ITEM_BYTES = 320
const VALUE_BYTES = 8
/** What stands deeper is refused without being read. */
const MAX_LEVELS = 8

/** Calls `act` for each item, in their order. Large items, such as callers send, are fewer a turn. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  act: (item: Item, position: number) => Result,
): Promise<Result[]> {
  const results: Result[] = []
  let bytes = 0
  for (const [position, item] of items.entries()) {
    if (position > 0) bytes += Math.max(MIN_ITEM_BYTES, bytesOf(items[position - 1], MAX_LEVELS))
    if (bytes >= BYTES_PER_TURN) {
      await nextTurn()
      bytes = 0
    }
    results.push(act(item, position))
  }
  return results
}

/** About what a value is long as JSON, as far as a turn goes; measuring that would cost more. */
function bytesOf(value: unknown, levels: number): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null || levels === 0) return VALUE_BYTES
  let bytes = VALUE_BYTES
  for (const name in value) {
    bytes += name.length + bytesOf((value as Record<string, unknown>)[name], levels - 1)
    if (bytes >= BYTES_PER_TURN) return bytes
  }
  return bytes
}
