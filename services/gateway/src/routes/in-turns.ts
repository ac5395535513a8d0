import { setImmediate as nextTurn } from 'node:timers/promises'

const TURN_MS = 1
/** Items that wait for something cost more after the turn in which they began. */
const ITEMS_PER_TURN = 50

/**
 * Calls `act` for each item, in their order. Other requests have their turn after a millisecond, however few items it was
 * enough for: one may be a hundred times as large as another.
 */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  act: (item: Item, position: number) => Result,
): Promise<Result[]> {
  const results: Result[] = []
  let turn = { beganAt: performance.now(), items: 0 }
  for (const [position, item] of items.entries()) {
    if (turn.items >= ITEMS_PER_TURN || performance.now() - turn.beganAt >= TURN_MS) {
      await nextTurn()
      turn = { beganAt: performance.now(), items: 0 }
    }
    results.push(act(item, position))
    turn.items += 1
  }
  return results
}
