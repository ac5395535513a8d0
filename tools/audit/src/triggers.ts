import type { ClearFact, EventTracked, UserFact } from './facts.ts'
import type { FormRule, TriggerRule } from './form-rules.ts'
import type { Moment } from './condition.ts'
import { decideAnswers, decideWhere } from './condition.ts'

/** A user's activity at a record, including the record. */
export interface ActivityThen extends Pick<Moment, 'traits' | 'device' | 'answers'> {
  readonly firstSeenAt: string | null
  readonly startsSession: boolean
  /** Returns the occurrences of a count, by `countName`. */
  readonly eventOf: (counted: string) =>
    | {
        readonly total: number
        /** Kept times in ms, ascending. */
        readonly latest: readonly number[]
        /** Count in the current session. */
        readonly inSession: number
      }
    | undefined
}

/**
 * Returns whether an identify or an event is evaluated (forms.md, When a record is evaluated). Of an answer, its outcome decides
 * (`QueueHistory.hasFinished`).
 */
export function isEvaluated(fact: ClearFact): boolean {
  if (fact.type === 'EventTracked') return !fact.imported && fact.evaluateTriggers
  return fact.type === 'IdentifyRequested' && !fact.imported && fact.source === 'sdk'
}

/** A matching trigger, and the result of its `where`, if it has one. */
export interface Triggered {
  readonly trigger: TriggerRule
  readonly where: ReturnType<typeof decideWhere> | ReturnType<typeof decideAnswers> | undefined
}

/**
 * Returns the first matching trigger of a form. If all matching triggers have a `where` that does not hold, returns the
 * first of them.
 */
export function triggeredBy({ triggers }: FormRule, fact: UserFact, activity: ActivityThen): Triggered | undefined {
  const matching = triggers
    .filter((trigger) => isMatched(trigger, fact, activity))
    .map((trigger) => ({ trigger, where: whereOf(trigger, fact) }))
  return matching.find(({ where }) => where?.holds !== false) ?? matching[0]
}

function whereOf({ inFile: { where, answered } }: TriggerRule, fact: UserFact): Triggered['where'] {
  if (fact.type === 'AnswerGiven') return answered?.where && decideAnswers(answered.where, fact)
  return where && fact.type === 'EventTracked' ? decideWhere(where, fact) : undefined
}

function isMatched(trigger: TriggerRule, fact: UserFact, activity: ActivityThen): boolean {
  switch (trigger.on) {
    case 'visit':
      return fact.type === 'IdentifyRequested' && activity.startsSession
    case 'first seen': {
      const { firstSeenAt } = activity
      return (
        fact.type !== 'AnswerGiven' &&
        firstSeenAt !== null &&
        Date.parse(fact.received) - Date.parse(firstSeenAt) >= trigger.afterMs
      )
    }
    case 'answers':
      return fact.type === 'AnswerGiven' && fact.formId === trigger.formId
    case 'event':
      return fact.type === 'EventTracked' && fact.slug === trigger.slug && isCounted(trigger, fact, activity)
  }
}

/** Returns whether a count, including this occurrence, is reached. With a window and the session, both counts must be reached. */
function isCounted(
  { counted, count, withinMs, inSession }: Extract<TriggerRule, { on: 'event' }>,
  { source, received, occurredAt }: EventTracked,
  { eventOf }: ActivityThen,
): boolean {
  const occurred = eventOf(counted) ?? { total: 0, latest: [], inSession: 0 }
  if (inSession && (source === 'admin' || occurred.inSession < count)) return false
  if (withinMs === undefined) return inSession || occurred.total >= count
  const until = Math.max(Date.parse(received), Date.parse(occurredAt))
  return occurred.latest.filter((at) => at <= until && at > until - withinMs).length >= count
}
