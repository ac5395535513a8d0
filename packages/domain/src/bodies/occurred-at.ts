import { parseInstant } from '../time/parse-instant.ts'
import { BODY_RULES } from './body-rules.ts'
import { reject, type Rejection } from './rejection.ts'

const MINUTE_MS = 60_000
const MAX_AHEAD_MS = 5 * MINUTE_MS
/** Maximum age of a live event in ms. An imported event may have any age since 1970 (decisions.md, Import). */
export const MAX_EVENT_AGE_MS = 365 * 24 * 60 * MINUTE_MS
/** Maximum age in ms of an event that may trigger forms (forms.md, When a record is evaluated). */
export const MAX_TRIGGER_AGE_MS = 15 * MINUTE_MS

export type OccurredAt =
  | {
      readonly outcome: 'ok'
      /** As `Date.toISOString()` writes it. */
      readonly occurredAt: string
      /** False if it is more than 15 minutes before `receivedMs`. */
      readonly evaluateTriggers: boolean
    }
  | Rejection

/**
 * Parses the time of an event (decisions.md, Track event): date and time, seconds and fraction optional, with `Z`,
 * `±hh:mm` or `±hhmm`, truncated to the millisecond. Limits are inclusive.
 */
export function parseOccurredAt(text: string, receivedMs: number, maxAgeMs = MAX_EVENT_AGE_MS): OccurredAt {
  const instantMs = parseInstant(text)
  if (instantMs === undefined) return reject(BODY_RULES.occurredAt)
  const range = rangeOfOccurredAt(instantMs, receivedMs, maxAgeMs)
  if (range !== 'within') return reject(BODY_RULES[range])
  return {
    outcome: 'ok',
    occurredAt: new Date(instantMs).toISOString(),
    evaluateTriggers: receivedMs - instantMs <= MAX_TRIGGER_AGE_MS,
  }
}

/** Returns whether an event may have this time, and otherwise the rule that it breaks. */
export function rangeOfOccurredAt(
  instantMs: number,
  receivedMs: number,
  maxAgeMs = MAX_EVENT_AGE_MS,
): 'within' | 'ahead' | 'past' {
  // NaN is the difference of two instants that are infinitely far.
  if (!(instantMs - receivedMs <= MAX_AHEAD_MS)) return 'ahead'
  return receivedMs - instantMs > maxAgeMs ? 'past' : 'within'
}
