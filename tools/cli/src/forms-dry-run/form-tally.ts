import type { GateReason } from '@nextvisit/contracts'
import type { EvaluatedForm } from '@nextvisit/domain'

/** Simulated outcome of one form under one catalog. */
export interface FormTally {
  /** Users for whom the form was queued at least once. */
  users: number
  /** Number of times that the form was queued. */
  queued: number
  /** Number of visits that showed the form. */
  delivered: number
  /** Number of records that matched one of its triggers. */
  evaluated: number
  readonly refusals: Map<GateReason, number>
}

export function emptyTally(): FormTally {
  return { users: 0, queued: 0, delivered: 0, evaluated: 0, refusals: new Map() }
}

/** Adds a decision. `isFirst`: the form was not queued for this user before. */
export function tallyDecision(tally: FormTally, decision: EvaluatedForm, isFirst: boolean): void {
  tally.evaluated += 1
  if (decision.outcome === 'not-queued') {
    tally.refusals.set(decision.reason, (tally.refusals.get(decision.reason) ?? 0) + 1)
    return
  }
  tally.queued += 1
  if (isFirst) tally.users += 1
}

/** Returns the refusals, the most frequent first. */
export function topRefusals({ refusals }: FormTally): readonly (readonly [GateReason, number])[] {
  return [...refusals].toSorted(([one, n], [other, m]) => m - n || (one < other ? -1 : 1))
}
