import { type Barrier, findCaughtUp } from '@nextvisit/consumer'
import type { Existence, UserLookUp } from '@nextvisit/contracts'
import type { Db } from '@nextvisit/database'
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
  const partitions = new Set(notFound.map(({ partition }) => partition))
  const folded = await findCaughtUp(barrier, partitions, { ...context, withinMs: BARRIER_WITHIN_MS })
  const exists = folded.size > 0 ? await readExistence(db, users) : existed
  return users.map(({ partition }, index) => {
    if (exists[index]) return 'exists'
    return folded.has(partition) ? 'missing' : 'unknown'
  })
}
