import type { ReplayAnswer } from '../../../src/replay/api.ts'

export type Run = NonNullable<ReplayAnswer['run']>

/** Whether what an interrupted replay has left is of no use: it was of other code. */
export function needsRestart({ failure }: Run): boolean {
  return failure?.code === 'REPLAY_OF_OTHER_CODE' || failure?.code === 'SCHEMAS_DIFFER'
}

/** Whether a comparison, or a swap that did not happen, lets somebody swap now. */
export function canSwap({ goal, endedAt, outcome }: Run): boolean {
  return endedAt !== null && (goal === 'swap' || outcome !== null) && outcome?.outcome !== 'swapped'
}

export function differingTables(tables: Run['tables']): number {
  return (tables ?? []).filter(({ onlyLive, onlyRebuilt }) => onlyLive + onlyRebuilt > 0).length
}
