import type { ClearFact } from './facts.ts'

const WINDOW_MS = 24 * 3_600_000

/**
 * Creates a check for duplicates: of a record whose request had an `Idempotency-Key`, received less than 24 h after the first
 * (decisions.md, Retries), and of an imported record, at any time. Call it in the order of each partition;
 * a record and its duplicates are in the same partition.
 */
export function createDuplicateCheck(): (partition: number, fact: ClearFact) => boolean {
  const partitions = new Map<number, Map<string, number>>()
  const imported = new Set<string>()
  return (partition, fact) => {
    if (fact.type === 'VisitAnswered' || fact.type === 'UserErased') return false
    if ('imported' in fact && fact.imported) {
      const isDuplicate = imported.has(fact.id)
      imported.add(fact.id)
      return isDuplicate
    }
    if (!fact.keyed) return false
    const firsts = partitions.get(partition) ?? new Map<string, number>()
    partitions.set(partition, firsts)
    const receivedMs = Date.parse(fact.received)
    const firstMs = firsts.get(fact.id)
    if (firstMs !== undefined && receivedMs - firstMs < WINDOW_MS) return true
    firsts.delete(fact.id)
    firsts.set(fact.id, receivedMs)
    dropBefore(firsts, receivedMs - 2 * WINDOW_MS)
    return false
  }
}

/** Drops old entries, which come first. Gateways' clocks differ by less than the second window. */
function dropBefore(firsts: Map<string, number>, instantMs: number): void {
  for (const [id, receivedMs] of firsts) {
    if (receivedMs >= instantMs) return
    firsts.delete(id)
  }
}
