import type { UserFact } from './facts.ts'

const WINDOW_MS = 24 * 3_600_000

/**
 * Tells second copies of records whose request had an `Idempotency-Key`: received less than 24 h after the first
 * (docs/spec/decisions.md, Retries). And those of imported records, at any time. To be asked in the order of each partition;
 * both copies are in one.
 */
export function createCopies(): (partition: number, fact: UserFact) => boolean {
  const partitions = new Map<number, Map<string, number>>()
  const imported = new Set<string>()
  return (partition, fact) => {
    if (fact.type === 'VisitAnswered') return false
    if (fact.imported) {
      const isCopy = imported.has(fact.id)
      imported.add(fact.id)
      return isCopy
    }
    if (!fact.keyed) return false
    const firsts = partitions.get(partition) ?? new Map<string, number>()
    partitions.set(partition, firsts)
    const receivedMs = Date.parse(fact.received)
    const firstMs = firsts.get(fact.id)
    if (firstMs !== undefined && receivedMs - firstMs < WINDOW_MS) return true
    firsts.delete(fact.id)
    firsts.set(fact.id, receivedMs)
    forgetBefore(firsts, receivedMs - 2 * WINDOW_MS)
    return false
  }
}

/** The oldest are in front; gateways' clocks differ by less than the second window. */
function forgetBefore(firsts: Map<string, number>, instantMs: number): void {
  for (const [id, receivedMs] of firsts) {
    if (receivedMs >= instantMs) return
    firsts.delete(id)
  }
}
