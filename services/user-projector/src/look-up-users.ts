import type { Existence, UserLookUp } from '@nextvisit/contracts'
import type { Db } from '@nextvisit/database'
import { type Barrier, waitSignal } from '@nextvisit/projection'
import type { CallContext } from '@nextvisit/service-kit'
import { readExistence } from './queries.ts'

/** Enough for a partition that is folded as usual. Admission has a second, and other questions wait meanwhile. */
const BARRIER_WITHIN_MS = 500

/**
 * For each user, in order, whether they exist as of the question. Users are never deleted, so only those not found need the
 * barrier. Each partition is waited for by itself: one that is behind leaves only its own users `unknown`.
 */
export async function lookUpUsers(
  db: Db,
  barrier: Barrier,
  users: readonly UserLookUp[],
  context: CallContext,
): Promise<Existence[]> {
  const existed = await readExistence(db, users)
  const notFound = users.filter((_user, index) => !existed[index])
  const within = waitSignal({ ...context, withinMs: BARRIER_WITHIN_MS })
  const folded = await foldedOf(new Set(notFound.map(({ partition }) => partition)), barrier, within)
  const exists = folded.size > 0 ? await readExistence(db, users) : existed
  return users.map(({ partition }, index) => {
    if (exists[index]) return 'exists'
    return folded.has(partition) ? 'missing' : 'unknown'
  })
}

/** The partitions that are folded up to the end that the log has now, once that is known of each or the time is up. */
async function foldedOf(
  partitions: ReadonlySet<number>,
  barrier: Barrier,
  within: AbortSignal,
): Promise<ReadonlySet<number>> {
  const folded = new Set<number>()
  const waits = Array.from(partitions, async (partition) => {
    try {
      await barrier([partition], within)
      folded.add(partition)
    } catch (error) {
      if (!within.aborted) throw error
    }
  })
  await Promise.all(waits)
  return folded
}
