import { type ClearIdentify, userKey } from './facts.ts'
import type { Findings } from './findings.ts'
import { checkGates, gatesAtVisit } from './gates.ts'
import { type FoldedFact, NEAR_MS } from './model.ts'
import type { RevisionRange } from './possible-revisions.ts'
import { mayBeOnOffer, OFFER_HOLDS_MS, type QueueHistory, type QueuesThen, type Row, stateAt } from './queue-history.ts'
import { recordRefOf } from './snapshot.ts'
import type { ActivityThen } from './triggers.ts'

/** A visit that the evaluator has folded. */
interface FoldedVisit {
  readonly fact: ClearIdentify
  readonly how: FoldedFact
  /** The user's activity; undefined if the user's records are out of order, when the visit may have been offered any row. */
  readonly activity: ActivityThen | undefined
  /** Revisions by which it may have been evaluated. */
  readonly runs: readonly RevisionRange[]
}

/** Possibility that a visit was offered a row, as far as the log shows it. */
interface Chance {
  readonly row: Row
  /** Reason why it was not offered; undefined: it may have been. */
  readonly refusal: string | undefined
  /** True if the row is known to have waited at the visit. */
  readonly isCertain: boolean
}

/**
 * Compares the form in a visit's answer, and the rows on offer, with the rows that waited for the visit
 * (forms.md, The queue). A visit answered without a form is never a difference, because its reply may have been
 * late. Call it after the history has passed the visit, because a visit may show a form that it has just queued.
 */
export function createOffers(findings: Findings, history: QueueHistory): (visit: FoldedVisit) => void {
  return ({ fact, how, activity, runs }) => {
    const shown = history.shownAt(fact)
    const rows = history.undelivered(fact).toSorted(byUrgency)
    const { possible } = history.at(fact)
    const chances = rows.map((row) => chanceOf(row, { fact, activity, runs, possible }))
    const first = chances.findIndex(({ isCertain }) => isCertain)
    const report = (queuedId: string, says: string) =>
      findings.add(
        'form-events: shown by mistake',
        `${userKey(fact)}/${queuedId}`,
        `record ${recordRefOf(how)}: ${says}`,
      )

    if (shown.length > 1) report(shown.join(), 'the visit was answered with several forms')
    for (const queuedId of activity ? shown : []) {
      const place = chances.findIndex(({ row }) => row.queuedId === queuedId)
      const refusal = chances[place] ? chances[place].refusal : 'it did not wait for this user'
      if (refusal !== undefined) report(queuedId, refusal)
      else if (first !== -1 && place > first) report(queuedId, `${chances[first]?.row.formId} comes before it`)
    }
    for (const [place, { row, refusal }] of chances.entries()) {
      const isConfirmed = shown.includes(row.queuedId)
      const isPossible = shown.length === 0 && refusal === undefined && (first === -1 || place <= first)
      if (isConfirmed || isPossible) row.offers.push({ at: fact.received, isConfirmed })
    }
  }
}

/** Orders rows by the highest priority, then the earliest queued, then form id. */
function byUrgency(one: Row, other: Row): number {
  if (one.priority !== other.priority) return other.priority - one.priority
  if (one.queuedAt !== other.queuedAt) return one.queuedAt < other.queuedAt ? -1 : 1
  return one.formId < other.formId ? -1 : 1
}

function chanceOf(
  row: Row,
  { fact, activity, runs, possible }: Omit<FoldedVisit, 'how'> & Pick<QueuesThen, 'possible'>,
): Chance {
  if (!activity) return { row, refusal: undefined, isCertain: false }
  const now = Date.parse(fact.received)
  const absent = whyAbsent(row, now)
  if (absent !== undefined) return { row, refusal: absent, isCertain: false }
  const refusals = runs.flatMap(({ rules: project, isKnown }) => {
    if (!isKnown) return [undefined, 'the catalog no longer has that revision']
    const form = project?.forms.get(row.formId)
    if (!project || !form) return ['the form does not exist']
    const candidate = { form, project, userId: fact.userId, now, activity }
    return possible.map((queue) => checkGates(gatesAtVisit(form), candidate, queue).reason)
  })
  return {
    row,
    refusal: refusals.includes(undefined) ? undefined : refusals[0],
    isCertain: isWaiting(row, now) && refusals.every((refusal) => refusal === undefined),
  }
}

/** Returns why a row cannot have waited at an instant; undefined: it can. */
function whyAbsent(row: Row, now: number): string | undefined {
  if (now < row.showFromMs) return 'its delay is not over'
  if (now >= row.expiresMs) return 'it has expired'
  if (stateAt(row, now) === 'over') return 'it was cancelled'
  return isHeld(row, now) ? 'it was on offer to another visit' : undefined
}

/** Returns whether a visit that was answered with the row held it. A fast clock may have returned it slightly earlier. */
function isHeld({ offers }: Row, now: number): boolean {
  return offers.some(({ at, isConfirmed }) => isConfirmed && now - Date.parse(at) < OFFER_HOLDS_MS - NEAR_MS)
}

/** Returns whether a row must have waited. Clocks may differ around the instant of its end. */
function isWaiting(row: Row, now: number): boolean {
  const hasEnded = row.isOver && now > row.expiresMs - NEAR_MS
  return stateAt(row, now) === 'open' && !hasEnded && !mayBeOnOffer(row, now)
}
