import { setTimeout as sleep } from 'node:timers/promises'
import type { deadLetterCalls } from '@nextvisit/contracts'
import type { z } from 'zod'

/** Dead letters of a decision by state. */
type Counts = Omit<z.infer<typeof deadLetterCalls.readDecision.answer>, 'deadAgain'>

/**
 * Waits until no dead letter waits to be folded, or until their number has not fallen for `stalledAfterMs`. Returns the
 * last counts.
 */
export async function awaitFolded(options: {
  readonly readCounts: () => Promise<Counts>
  /** Receives the number of pending dead letters. */
  readonly onWaiting: (waiting: number) => void
  readonly stalledAfterMs: number
  readonly pollEveryMs: number
}): Promise<Counts> {
  const { readCounts, onWaiting, stalledAfterMs, pollEveryMs } = options
  let fewest = Infinity
  let movedAt = performance.now()
  for (;;) {
    const counts = await readCounts()
    const waiting = counts.retry
    if (waiting < fewest) {
      fewest = waiting
      movedAt = performance.now()
    }
    if (waiting === 0 || performance.now() - movedAt > stalledAfterMs) return counts
    onWaiting(waiting)
    await sleep(pollEveryMs)
  }
}
