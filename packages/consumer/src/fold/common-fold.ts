import { foldGroup, type GroupScope, type Share } from './fold-group.ts'
import { foldInParts, type ShareOutcome } from './fold-in-parts.ts'
import type { FoldResult } from './fold-result.ts'

/**
 * One fold and one commit at a time for all partitions of a process: what they have ready is loaded, folded and committed
 * together, and what arrives meanwhile goes with the next commit. So the work of Postgres follows commits, not partitions.
 */
export interface CommonFold {
  /**
   * Resolves once the share is committed and what follows its commit is done. Rejects if nothing of it was folded. Not
   * for two shares of a partition at once.
   */
  readonly fold: (share: Share) => Promise<FoldResult>
}

/** Bounds what one commit holds: about as many records as cost Postgres a tenth of its timeouts on a slow machine. */
const MAX_RECORDS_A_COMMIT = 2_000
const MAX_RECORD_BYTES_A_COMMIT = 4 * 1024 * 1024

interface Waiting {
  readonly share: Share
  readonly settle: (outcome: ShareOutcome) => void
}

export function createCommonFold<Fact, Draft>(scope: GroupScope<Fact, Draft>): CommonFold {
  const waiting: Waiting[] = []
  let isFolding = false

  const foldAll = async (): Promise<void> => {
    isFolding = true
    // A fetch brings the batches of several partitions in one turn of the event loop.
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const group = takeGroup(waiting)
      const outcomes = await foldInParts(
        (shares) => foldGroup(scope, shares),
        group.map(({ share }) => share),
      )
      for (const { share, settle } of group)
        settle(outcomes.get(share) ?? { error: new Error('A share was not folded') })
    }
    isFolding = false
  }

  const fold: CommonFold['fold'] = async (share) => {
    const outcome = await new Promise<ShareOutcome>((settle) => {
      waiting.push({ share, settle })
      if (!isFolding) void foldAll()
    })
    if ('error' in outcome) throw outcome.error
    // Not awaited by the next commit: replies may take as long as Redis does.
    await outcome.after
    return outcome.result
  }

  return { fold }
}

/** The shares that go into the next commit, oldest first; at least one. */
function takeGroup(waiting: Waiting[]): readonly Waiting[] {
  let records = 0
  let bytes = 0
  const end = waiting.findIndex(({ share: { batch } }, index) => {
    records += batch.records.length
    bytes += batch.records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
    return index > 0 && (records > MAX_RECORDS_A_COMMIT || bytes > MAX_RECORD_BYTES_A_COMMIT)
  })
  return waiting.splice(0, end === -1 ? waiting.length : end)
}
