import type { ClearFact } from './facts.ts'

const WINDOW_MS = 24 * 3_600_000

/** Creates a check for records with the id of another that was received less than 24 h before. Call it in the order of each partition. */
export function createRepeatCheck(): (partition: number, id: string, receivedMs: number) => boolean {
  const partitions = new Map<number, Map<string, number>>()
  return (partition, id, receivedMs) => {
    const firsts = partitions.get(partition) ?? new Map<string, number>()
    partitions.set(partition, firsts)
    const firstMs = firsts.get(id)
    if (firstMs !== undefined && receivedMs - firstMs < WINDOW_MS) return true
    firsts.delete(id)
    firsts.set(id, receivedMs)
    dropBefore(firsts, receivedMs - 2 * WINDOW_MS)
    return false
  }
}

/**
 * Creates a check for duplicates: of a record whose request had an `Idempotency-Key`, received less than 24 h after the first
 * (decisions.md, Retries), and of an imported record, at any time. Call it in the order of each partition;
 * a record and its duplicates are in the same partition.
 */
export function createDuplicateCheck(): (partition: number, fact: ClearFact) => boolean {
  const isRepeat = createRepeatCheck()
  const imported = new Set<string>()
  return (partition, fact) => {
    if (fact.type === 'VisitAnswered' || fact.type === 'UserErased') return false
    if ('imported' in fact && fact.imported) {
      const isDuplicate = imported.has(fact.id)
      imported.add(fact.id)
      return isDuplicate
    }
    return fact.keyed && isRepeat(partition, fact.id, Date.parse(fact.received))
  }
}

/** Drops old entries, which come first. Gateways' clocks differ by less than the second window. */
function dropBefore(firsts: Map<string, number>, instantMs: number): void {
  for (const [id, receivedMs] of firsts) {
    if (receivedMs >= instantMs) return
    firsts.delete(id)
  }
}
