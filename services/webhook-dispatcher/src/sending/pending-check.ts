import type { Db } from '@nextvisit/database'
import { isPending, type PendingDelivery, type Turn } from './due-turns.ts'

/** A delivery that was read longer ago is read again before it is sent. */
export const CLAIM_MS = 1_000

interface PendingCheckParts {
  readonly db: Db
  readonly owns: (partition: number) => boolean
  readonly turn: Pick<Turn, 'partition'>
  readonly delivery: Pick<PendingDelivery, 'deliveryId'>
  /** `performance.now()` instant at which the delivery was read. */
  readonly readMs: number
}

/**
 * Creates a function that returns true if a delivery may be sent now. It asks Postgres again if the last answer is old: the body was completed,
 * or the endpoint was slow to accept the connection, or this process was stopped. Meanwhile the user may have been erased, or another
 * process may own the partition.
 */
export function createPendingCheck({ db, owns, turn, delivery, readMs }: PendingCheckParts): () => Promise<boolean> {
  let knownMs = readMs
  return async () => {
    while (performance.now() - knownMs > CLAIM_MS) {
      const askedMs = performance.now()
      if (!(await isPending(db, delivery.deliveryId))) return false
      knownMs = askedMs
    }
    return owns(turn.partition)
  }
}
