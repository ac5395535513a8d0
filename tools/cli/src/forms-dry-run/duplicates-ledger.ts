import { isDuplicate } from '@nextvisit/consumer'
import type { UserFact } from '@nextvisit/contracts'
import { idempotentRecordOf } from '@nextvisit/domain'

/** Retention, as in the consumers' ledger: longer than a duplicate may follow, and than partitions are read out of step. */
const KEPT_MS = 48 * 3_600_000

/**
 * Creates a ledger that detects duplicates of idempotent and imported records, like the consumers' (decisions.md,
 * Retries and Import).
 */
export function createDuplicatesLedger(): { readonly takeIsDuplicate: (fact: UserFact) => boolean } {
  const imported = new Set<string>()
  /** Time of receipt by id. */
  const keyed = new Map<string, number>()

  const release = (before: number): void => {
    for (const [id, received] of keyed) {
      if (received >= before) return
      keyed.delete(id)
    }
  }

  return {
    takeIsDuplicate: (fact) => {
      const key = idempotentRecordOf(fact)
      if (!key) return false
      const predecessorMs = imported.has(key.id) ? Number.POSITIVE_INFINITY : keyed.get(key.id)
      if (predecessorMs !== undefined && isDuplicate(key, predecessorMs)) return true
      if (key.receivedMs === Number.POSITIVE_INFINITY) imported.add(key.id)
      else {
        keyed.delete(key.id)
        keyed.set(key.id, key.receivedMs)
        release(key.receivedMs - KEPT_MS)
      }
      return false
    },
  }
}
