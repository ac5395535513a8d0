import type { GateReason } from '@nextvisit/contracts'
import type { EvaluatedForm } from '@nextvisit/domain'

/** What became of one form under one catalog. */
export interface FormTally {
  /** Users in whose queue it was at least once. */
  users: number
  /** How often it was put into a queue. */
  queued: number
  /** How often a visit showed it. */
  delivered: number
  /** How often one of its triggers matched. */
  evaluated: number
  readonly refusals: Map<GateReason, number>
}

export function emptyTally(): FormTally {
  return { users: 0, queued: 0, delivered: 0, evaluated: 0, refusals: new Map() }
}

/** `isFirst`: the form was not queued for this user before. */
export function count(tally: FormTally, decision: EvaluatedForm, isFirst: boolean): void {
  tally.evaluated += 1
  if (decision.outcome === 'refused') {
    tally.refusals.set(decision.reason, (tally.refusals.get(decision.reason) ?? 0) + 1)
    return
  }
  tally.queued += 1
  if (isFirst) tally.users += 1
}

/** The most frequent first. */
export function topRefusals({ refusals }: FormTally): readonly (readonly [GateReason, number])[] {
  return [...refusals].toSorted(([one, n], [other, m]) => m - n || (one < other ? -1 : 1))
}
