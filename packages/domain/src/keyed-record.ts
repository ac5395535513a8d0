import type { UserFact } from '@nextvisit/contracts'

/**
 * What a second copy of a fact is known by: its id and when it was received, ms since the epoch. Only facts whose request
 * had an `Idempotency-Key` can have one (decisions.md, Retries).
 */
export function keyedRecordOf(fact: UserFact): { readonly id: string; readonly receivedMs: number } | undefined {
  if (fact.type === 'VisitAnswered' || !fact.keyed) return undefined
  return { id: fact.id, receivedMs: Date.parse(fact.received) }
}
