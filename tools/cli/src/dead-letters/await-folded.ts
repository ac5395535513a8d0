import { setTimeout as sleep } from 'node:timers/promises'

/** By letters' state, how many are in it. */
export type StateCounts = ReadonlyMap<string, number>

export interface AwaitFoldedOptions {
  readonly readStates: () => Promise<StateCounts>
  /** So many wait to be tried again. */
  readonly onWaiting: (waiting: number) => void
  readonly stalledAfterMs: number
  readonly lookEveryMs: number
}

/** Waits until no letter waits any more, or until their number has not gone down for a while. Returns what was seen last. */
export async function awaitFolded(options: AwaitFoldedOptions): Promise<StateCounts> {
  const { readStates, onWaiting, stalledAfterMs, lookEveryMs } = options
  let fewest = Infinity
  let movedAt = performance.now()
  for (;;) {
    const states = await readStates()
    const waiting = states.get('retry') ?? 0
    if (waiting < fewest) {
      fewest = waiting
      movedAt = performance.now()
    }
    if (waiting === 0 || performance.now() - movedAt > stalledAfterMs) return states
    onWaiting(waiting)
    await sleep(lookEveryMs)
  }
}
