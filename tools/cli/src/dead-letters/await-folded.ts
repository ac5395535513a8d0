import { setTimeout as sleep } from 'node:timers/promises'
import type { DecisionCounts } from '@nextvisit/consumer'

export interface AwaitFoldedOptions {
  readonly readCounts: () => Promise<DecisionCounts>
  /** So many wait to be tried again. */
  readonly onWaiting: (waiting: number) => void
  readonly stalledAfterMs: number
  readonly lookEveryMs: number
}

/** Waits until no letter waits any more, or until their number has not gone down for a while. Returns what was seen last. */
export async function awaitFolded(options: AwaitFoldedOptions): Promise<DecisionCounts> {
  const { readCounts, onWaiting, stalledAfterMs, lookEveryMs } = options
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
    await sleep(lookEveryMs)
  }
}
